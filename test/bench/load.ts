import { fork } from 'node:child_process';
import { Agent, get } from 'node:http';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

interface Job {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly connections: number;
  readonly requests: number;
}

export interface LoadResult {
  readonly seconds: number;
  /** Milliseconds of each request. */
  readonly latencies: number[];
}

/** Sends requests from a process of its own, so that its work is not counted as the server's. */
export async function load(job: Job): Promise<LoadResult> {
  const child = fork(fileURLToPath(import.meta.url), { serialization: 'advanced' });
  try {
    return await new Promise<LoadResult>((resolve, reject) => {
      child.once('message', (result) => resolve(result as LoadResult));
      child.once('exit', (code) => reject(new Error(`The load generator ended with ${code}`)));
      child.send(job);
    });
  } finally {
    child.kill();
  }
}

async function run({ url, headers, connections, requests }: Job): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const latencies: number[] = [];
  let left = requests;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const began = performance.now();
      await once(url, headers, agent);
      latencies.push(performance.now() - began);
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: connections }, worker));
  const seconds = (performance.now() - began) / 1000;
  agent.destroy();
  return { seconds, latencies };
}

function once(url: string, headers: Record<string, string>, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { headers, agent }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`${url} answered ${answer.statusCode}`));
      answer.resume();
      answer.once('end', resolve);
    }).once('error', reject);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.once('message', (job) => {
    run(job as Job).then((result) => process.send?.(result));
  });
