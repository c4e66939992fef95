import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { auth } from '#contract/operations/auth.ts';
import { projects } from '#contract/operations/projects.ts';
import { startEmbeddedCloud } from '#infra/local/embedded-cloud.ts';
import { createClient } from '#shared/client/client.ts';
import { median, spread } from './figures.ts';
import { load } from './load.ts';

const PASSWORD = 'a password for the bench';
const REQUESTS = 2000;
const RUNS = 5;

/** What a request costs: CPU of gateway, authorizer and operation, beside a bare server answering the same bytes. */
export async function requests(): Promise<void> {
  const cloud = await startEmbeddedCloud({
    port: 0,
    inMemory: true,
    adminPassword: PASSWORD,
    env: { ASPM_RATE_LIMIT_FACTOR: '100000', ASPM_DEFAULT_TIER: 'enterprise' },
  });
  try {
    const session = await createClient({ url: cloud.url }).call(auth.operations.login, {
      body: { email: cloud.admin.email, password: PASSWORD },
    });
    const client = createClient({ url: cloud.url, credential: session.access_token });
    const project = await client.call(projects.operations.createProject, { body: { name: 'Measured' } });
    const url = `${cloud.url}/api/projects/${project.id}`;
    const headers = { authorization: `Bearer ${session.access_token}` };
    const bare = await startBareServer(url, headers);
    try {
      console.log(
        `GET /api/projects/{id} with a JWT: ${REQUESTS} requests a run, sent by a process of their own.`,
      );
      console.log(
        'CPU is of this process: gateway, authorizer and operation, with the SDK; the store is another process.',
      );
      for (const connections of [1, 8]) await compare(url, bare.url, headers, connections);
    } finally {
      bare.stop();
    }
  } finally {
    await cloud.stop();
  }
}

async function compare(
  url: string,
  bareUrl: string,
  headers: Record<string, string>,
  connections: number,
): Promise<void> {
  const service = { cpu: [] as number[], rate: [] as number[], latency: [] as number[] };
  const bare = { cpu: [] as number[], rate: [] as number[], latency: [] as number[] };
  // In turn, so that the machine's moods meet both; the first pair warms up and is not counted.
  for (let run = 0; run <= RUNS; run += 1) {
    for (const [target, figures] of [
      [url, service],
      [bareUrl, bare],
    ] as const) {
      const before = process.cpuUsage();
      const { seconds, latencies } = await load({ url: target, headers, connections, requests: REQUESTS });
      const used = process.cpuUsage(before);
      if (run === 0) continue;
      figures.cpu.push((used.user + used.system) / 1000 / REQUESTS);
      figures.rate.push(REQUESTS / seconds);
      figures.latency.push(median(latencies));
    }
  }
  console.log(`  ${connections} connection${connections > 1 ? 's' : ''}`);
  console.log(
    `    service  CPU a request ${spread(service.cpu, 'ms', 2)}; p50 ${spread(service.latency, 'ms', 2)}; ${spread(service.rate, 'requests/s')}`,
  );
  console.log(
    `    bare     CPU a request ${spread(bare.cpu, 'ms', 3)}; p50 ${spread(bare.latency, 'ms', 2)}; ${spread(bare.rate, 'requests/s')}`,
  );
  console.log(
    `    CPU of the service over the bare server's: ${(median(service.cpu) / median(bare.cpu)).toFixed(1)}`,
  );
}

/** Answers what the service answered once: the floor of any Node server. */
async function startBareServer(url: string, headers: Record<string, string>) {
  const sample = await fetch(url, { headers });
  const body = await sample.text();
  const own = Object.fromEntries(
    [...sample.headers].filter(
      ([name]) => !['connection', 'date', 'keep-alive', 'transfer-encoding'].includes(name),
    ),
  );
  const server = createServer((_, response) => {
    response.writeHead(200, { ...own, 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
