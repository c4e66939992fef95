import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUILD_FOLDER, PROJECT_ROOT } from '#infra/project.ts';
import { type CompiledPolicy, checkPolicy } from '#shared/policy/check.ts';
import { evaluateMany, type PolicyResult } from '#shared/policy/evaluate.ts';
import { HAS_GO, SAMPLES, sampleInput, startEngine } from '#test/policy/engine.ts';
import { median, spread } from './figures.ts';

const FINDINGS = 10_000;
const RUNS = 5;
const CHECKS = 25;
/** `opa run --server` is asked about fewer of them, each in a request of its own, as an integration would. */
const SERVER_FINDINGS = 2000;

/** A triage policy as teams write them: exploited, likely, unreachable, accepted risks, with a reason. */
export const REGO = `package svc.triage

import rego.v1

quiet_paths := ["test/", "docs/", "examples/"]

accepted := {"CVE-2024-10007", "CVE-2024-10013"}

default decision := "accept"

decision := "reject" if count(rejections) > 0

reason := concat("; ", sort(rejections)) if count(rejections) > 0

reason := sprintf("%s, exploitation %s", [input.finding.severity, likelihood]) if count(rejections) == 0

rejections contains "accepted risk" if input.finding.cve_id in accepted

rejections contains "only in tests" if {
	not urgent
	some path in quiet_paths
	startswith(input.finding.location.path, path)
}

rejections contains "unlikely to be exploited" if {
	not urgent
	input.finding.severity in {"low", "info"}
	input.finding.epss_score < 0.05
}

urgent if input.finding.kev

urgent if {
	input.finding.severity in {"critical", "high"}
	input.finding.epss_score >= 0.5
}

urgent if {
	"internet" in input.project.labels
	input.finding.cvss_score >= 9
}

default likelihood := "possible"

likelihood := "known" if input.finding.kev

likelihood := "likely" if {
	not input.finding.kev
	input.finding.epss_score >= 0.5
}
`;

/** Evaluations a second: compiled policies, the reactor, and OPA itself where Go can build it; and what saving costs. */
export async function policy(): Promise<void> {
  const inputs = Array.from({ length: FINDINGS }, (_, number) => sampleInput(number));
  await using engine = startEngine();
  const checked = await saving(engine.reactor);

  const bulk: number[] = [];
  const reactor: number[] = [];
  let expected: PolicyResult[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    bulk.push(
      await rate(FINDINGS, async () => {
        expected = await evaluateMany(engine.evaluators, checked, inputs);
      }),
    );
    reactor.push(
      await rate(FINDINGS, () =>
        evaluateMany(engine.evaluators, { ...checked, evaluator: 'reactor' }, inputs),
      ),
    );
  }
  console.log(`Evaluations a second of a triage policy over ${FINDINGS} findings (${checked.evaluator}):`);
  console.log(`  in bulk             ${spread(bulk, '/s')}`);
  console.log(`  in the reactor      ${spread(reactor, '/s')}`);
  if (!HAS_GO) return console.log('  Go is not here: nothing to compare with');

  const opa = buildOpa();
  const server: number[] = [];
  const command: number[] = [];
  for (let run = 0; run < 3; run += 1) {
    server.push(await serverRate(opa, inputs.slice(0, SERVER_FINDINGS), expected));
    command.push(await commandRate(opa, inputs));
  }
  console.log(`  opa run --server    ${spread(server, '/s')}, a request each, one connection`);
  console.log(`  opa eval            ${spread(command, '/s')}, all in one process`);
  console.log(`  bulk is ${(median(bulk) / median(server)).toFixed(0)} times the server`);
}

async function saving(reactor: Parameters<typeof checkPolicy>[0]): Promise<CompiledPolicy> {
  const source = { kind: 'triage', rego: REGO, samples: SAMPLES } as const;
  const began = performance.now();
  const checked = await checkPolicy(reactor, source);
  const first = performance.now() - began;
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const checks: number[] = [];
  const whole: number[] = [];
  for (let run = 0; run < CHECKS; run += 1) {
    // Another text each time, as a save is.
    const rego = `${REGO}# ${run}\n`;
    checks.push(await milliseconds(() => reactor.check({ kind: 'triage', rego }, SAMPLES)));
    whole.push(await milliseconds(() => checkPolicy(reactor, { ...source, rego })));
  }
  console.log('Save-time check of the policy below:');
  console.log(`  first, with the engine's start  ${first.toFixed(0)} ms`);
  console.log(`  check, conflicts included       ${spread(checks, 'ms')}`);
  console.log(`  check and compilation to Wasm   ${spread(whole, 'ms')}`);
  return checked.compiled;
}

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function rate(count: number, work: () => Promise<unknown>): Promise<number> {
  return (count / (await milliseconds(work))) * 1000;
}

/** The `opa` of the version that the engine is built from, by Go's own client. */
function buildOpa(): string {
  const goMod = readFileSync(`${PROJECT_ROOT}/shared/policy/opa/go.mod`, 'utf8');
  const version = /open-policy-agent\/opa (v\S+)/.exec(goMod)?.[1] ?? 'latest';
  const folder = `${BUILD_FOLDER}/opa-${version}`;
  if (!existsSync(`${folder}/opa`)) {
    mkdirSync(folder, { recursive: true });
    const { status } = spawnSync('go', ['install', `github.com/open-policy-agent/opa@${version}`], {
      env: { ...process.env, GOBIN: folder },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (status !== 0) throw new Error('go install failed');
  }
  return `${folder}/opa`;
}

async function serverRate(opa: string, inputs: readonly unknown[], expected: readonly PolicyResult[]) {
  const folder = mkdtempSync(join(tmpdir(), 'policy-bench-'));
  writeFileSync(join(folder, 'policy.rego'), REGO);
  const port = await freePort();
  const child = spawn(
    opa,
    ['run', '--server', '--addr', `127.0.0.1:${port}`, '--log-level', 'error', folder],
    {
      stdio: 'ignore',
      // One core, as ours has.
      env: { ...process.env, GOMAXPROCS: '1' },
    },
  );
  const url = `http://127.0.0.1:${port}/v1/data/svc/triage`;
  const ask = async (input: unknown): Promise<unknown> => {
    const response = await fetch(url, { method: 'POST', body: JSON.stringify({ input }) });
    return response.json();
  };
  try {
    for (let up = false; !up; )
      up = await ask({}).then(
        () => true,
        () => false,
      );
    return await rate(inputs.length, async () => {
      for (const [index, input] of inputs.entries()) {
        const { result } = (await ask(input)) as { result: { decision?: string } };
        const ours = expected[index];
        const decision = ours && 'result' in ours ? (ours.result as typeof result).decision : undefined;
        if (result.decision !== decision) throw new Error(`opa decides ${result.decision}, we ${decision}`);
      }
    });
  } finally {
    const ended = once(child, 'exit');
    child.kill();
    await ended;
    rmSync(folder, { recursive: true });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

/** All findings in the input of one evaluation, start of the process included. */
async function commandRate(opa: string, inputs: readonly unknown[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'policy-bench-'));
  try {
    writeFileSync(join(folder, 'policy.rego'), REGO);
    writeFileSync(join(folder, 'input.json'), JSON.stringify(inputs));
    const query = '[d | some i in input; d := data.svc.triage with input as i]';
    const options = [
      'eval',
      '--data',
      join(folder, 'policy.rego'),
      '--input',
      join(folder, 'input.json'),
      query,
    ];
    return await rate(inputs.length, async () => {
      const child = spawn(opa, options, { stdio: 'ignore', env: { ...process.env, GOMAXPROCS: '1' } });
      const [code] = await once(child, 'exit');
      if (code !== 0) throw new Error(`opa eval ended with ${code}`);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
