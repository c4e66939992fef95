import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { BUILD_FOLDER } from '#infra/project.ts';
import { createBulk } from '#shared/policy/bulk.ts';
import { type CompiledPolicy, checkPolicy } from '#shared/policy/check.ts';
import { policyFiles } from '#shared/policy/files.ts';
import { createReactor, type Reactor } from '#shared/policy/reactor.ts';

/** What the tests of the policy engine share: both evaluators, sample inputs, and OPA as a native program. */

export const GO_SOURCES = fileURLToPath(new URL('../../shared/policy/opa/', import.meta.url));

/** Both evaluators; end them with `await using`. */
export function startEngine() {
  const reactor = createReactor(policyFiles());
  const bulk = createBulk(policyFiles());
  return {
    reactor,
    bulk,
    evaluators: { reactor: () => reactor, bulk },
    async [Symbol.asyncDispose]() {
      await Promise.all([reactor.close(), bulk.close()]);
    },
  };
}

const SEVERITIES = ['critical', 'high', 'medium', 'low', 'info'] as const;

/** An input as evaluations get it, a different one for each number. */
export function sampleInput(number: number) {
  return {
    finding: {
      id: `f_${number}`,
      severity: SEVERITIES[number % SEVERITIES.length],
      status: 'open',
      scanner: number % 4 === 0 ? 'semgrep' : 'trivy',
      title: 'CVE-2024-12345: prototype pollution in a package that is used everywhere',
      description:
        'An attacker who controls a key of a merged object can change the prototype of all objects.',
      cve_id: number % 4 === 0 ? null : `CVE-2024-${10_000 + number}`,
      cwe: ['CWE-1321', 'CWE-915'],
      cvss_score: (number % 100) / 10,
      epss_score: (number % 97) / 97,
      kev: number % 31 === 0,
      age_days: number % 400,
      package: { name: 'lodash', version: '4.17.20', purl: 'pkg:npm/lodash@4.17.20' },
      location: {
        path: `${number % 3 === 0 ? 'test' : 'src'}/module-${number % 50}/file.ts`,
        start_line: number % 900,
      },
      created_at: '2026-03-04T05:06:07.000Z',
    },
    asset: {
      id: 'asset_1',
      name: 'service',
      url: 'https://git.example.com/team/service.git',
      branch: 'main',
    },
    project: { id: 'proj_1', name: number % 2 === 0 ? 'payments' : 'website', labels: ['internet', 'pci'] },
    organization: { id: 'org_1', name: 'Example' },
    scan: { id: 'scan_1', branch: 'main' },
  };
}

export const SAMPLES = SEVERITIES.map((_, number) => sampleInput(number));

/** A policy that has to be right. */
export async function compiled(reactor: Reactor, rules: string): Promise<CompiledPolicy> {
  const rego = `package svc.triage\nimport rego.v1\n${rules}\n`;
  const checked = await checkPolicy(reactor, { kind: 'triage', rego, samples: [] });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  return checked.compiled;
}

export const HAS_GO = spawnSync('go', ['version']).status === 0;

/** The engine's Go sources as an ordinary program: what OPA answers where it runs as it was made to. */
function buildNative(): string {
  const folder = `${BUILD_FOLDER}/policy-native`;
  mkdirSync(folder, { recursive: true });
  const { status, stderr } = spawnSync('go', ['build', '-buildvcs=false', '-o', `${folder}/engine`, '.'], {
    cwd: GO_SOURCES,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return `${folder}/engine`;
}

export function startNative() {
  const child = spawn(buildNative(), { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  async function ask(request: object): Promise<Record<string, unknown>> {
    child.stdin.write(`${JSON.stringify(request)}\n`);
    const { value = '' } = await lines.next();
    return JSON.parse(String(value));
  }
  return {
    /** Results as `evaluateMany` gives them, but for messages. */
    async evaluate(rego: string, inputs: readonly unknown[]): Promise<object[]> {
      const prepared = await ask({ op: 'prepare', handle: 'policy', source: rego, package: 'svc.triage' });
      if (prepared.errors) throw new Error(JSON.stringify(prepared.errors));
      const { results } = await ask({ op: 'evaluate', handle: 'policy', inputs });
      return (results as { result?: unknown; errors?: { code: string }[] }[]).map(({ result, errors }) => {
        if (errors) return { error: errors[0]?.code === 'eval_conflict_error' ? 'policy_conflict' : 'other' };
        return result === undefined ? { undefined: true } : { result };
      });
    },
    check: (rego: string) => ask({ op: 'check', source: rego, package: 'svc.triage' }),
    close: () => child.kill(),
  };
}
