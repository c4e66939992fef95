import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { opinionOf } from '#shared/judging/verdict.ts';
import { type CompiledPolicy, checkPolicy } from '#shared/policy/check.ts';
import { evaluateMany } from '#shared/policy/evaluate.ts';
import type { PolicyKind } from '#shared/policy/kinds.ts';
import { SAMPLE_INPUTS } from '#shared/presenters/policy-input.ts';
import { startEngine } from './engine.ts';

/** The starter policies of the guide, as they lie there. */
const FOLDER = fileURLToPath(new URL('../../docs/policies/', import.meta.url));

const engine = startEngine();
afterAll(() => engine[Symbol.asyncDispose]());

/** What differs from the sample finding of a severity, `medium` where none is named. */
interface Change {
  readonly finding?: object;
  readonly asset?: object | null;
  readonly scan?: object;
}

function inputOf({ finding = {}, asset, scan = {} }: Change) {
  const wanted = 'severity' in finding ? finding.severity : 'medium';
  const sample = SAMPLE_INPUTS.find((input) => input.finding.severity === wanted);
  if (!sample) throw new Error(`There is no sample of severity ${wanted}`);
  return {
    ...sample,
    finding: { ...sample.finding, ...finding },
    asset: asset === null ? null : { ...sample.asset, ...asset },
    scan: { id: 'scan_2', scope: 'asset', branch: 'main', trigger: 'api', ...scan },
  };
}

const at = (path: string, finding: object = {}) => ({
  finding: { ...finding, location: { path, start_line: 3, end_line: 3 } },
});
const aged = (age_days: number, severity = 'medium') => ({
  finding: {
    severity,
    kev: false,
    epss_score: 0,
    age_days,
    created_at: '2026-01-31T12:00:00.000Z',
    sla_due_at: '2026-05-01T12:00:00.000Z',
  },
});
const unlikely = { severity: 'low', epss_score: 0.001, kev: false };
const brought = (finding: object) => ({ finding: { first_seen_scan_id: 'scan_2', ...finding } });

interface Starter {
  readonly kind: PolicyKind;
  readonly evaluator: CompiledPolicy['evaluator'];
  /** Of the sample inputs: critical, high, medium, low, info. */
  readonly ofSamples: readonly (string | null)[];
  readonly cases: readonly (readonly [string, Change, string | null, (string | null)?])[];
}

const STARTERS: Readonly<Record<string, Starter>> = {
  'triage-exploited-or-likely.rego': {
    kind: 'triage',
    evaluator: 'wasm',
    ofSamples: ['accept', null, null, null, null],
    cases: [
      ['exploited, however unlikely', at('src/a.ts', { epss_score: 0.02, kev: true }), 'accept'],
      ['likely, in test code', at('test/a.ts', { ...unlikely, epss_score: 0.5 }), 'accept'],
      [
        'exploited and likely',
        at('pom.xml', { severity: 'critical', kev: true, epss_score: 0.94358 }),
        'accept',
        'exploited: listed in KEV; likely to be exploited: EPSS 0.94358',
      ],
      ['low, in test code', at('app/tests/db.py', unlikely), 'reject', 'severity low, in test code'],
      ['low, in a file of tests', at('app/db_test.go', unlikely), 'reject'],
      ['info without a CVE, in test code', at('testdata/a.ts', { ...unlikely, severity: 'info' }), 'reject'],
      ['low, elsewhere', at('app/latest/db.py', unlikely), null],
      ['a secret in test code', at('test/.env', { ...unlikely, category: 'secret' }), null],
      ['medium in test code', at('test/a.ts', { ...unlikely, severity: 'medium' }), null],
    ],
  },
  'priority-by-sla.rego': {
    kind: 'priority',
    // WebAssembly can't parse dates.
    evaluator: 'reactor',
    ofSamples: ['p0', 'p2', 'p3', 'p4', 'p4'],
    cases: [
      ['with time left', aged(60), 'p3', 'severity medium'],
      ['due soon', aged(70), 'p2', 'due soon; severity medium'],
      ['on its last day', aged(89), 'p2', 'due soon; severity medium'],
      ['past its due date', aged(90), 'p2', 'past its due date; severity medium'],
      ['past it on a critical asset', { ...aged(91), asset: { criticality: 'critical' } }, 'p1'],
      ['on an asset that matters little', { ...aged(1), asset: { criticality: 'low' } }, 'p4'],
      ['exploited', { finding: { ...aged(1, 'high').finding, kev: true } }, 'p0'],
      ['of an asset that is not known', { ...aged(1, 'critical'), asset: null }, 'p1'],
    ],
  },
  'ownership-by-path.rego': {
    kind: 'ownership',
    evaluator: 'wasm',
    ofSamples: Array.from({ length: 5 }, () => '@example/platform'),
    cases: [
      ['anywhere', at('go.mod'), '@example/platform', 'matches **'],
      ['by its ending', at('services/payments.tf'), '@example/infrastructure'],
      ['within a folder', at('services/payments/api/card.go'), '@example/payments'],
      ['the last match', at('services/payments/web/form.ts'), '@example/frontend'],
      ['a secret whose path is empty', at(''), '@example/platform'],
    ],
  },
  'project-by-path.rego': {
    kind: 'project',
    evaluator: 'wasm',
    ofSamples: [null, null, null, null, null],
    cases: [
      ['within a folder', at('services/search/go.sum'), 'search', 'lies in services/search/'],
      ['within the inner folder', at('services/payments/fraud/go.sum'), 'fraud-detection'],
      ['beside it', at('services/payments/main.go'), 'payments'],
      ['elsewhere', at('services/README.md'), null, null],
    ],
  },
  'pull-request-gate.rego': {
    kind: 'pr_scan',
    evaluator: 'wasm',
    ofSamples: ['pass', 'pass', 'pass', 'pass', 'pass'],
    cases: [
      ['a new critical one', brought({ severity: 'critical' }), 'fail', 'severity critical'],
      ['a new high one', brought({ severity: 'high' }), 'fail'],
      ['a new medium one', brought({ severity: 'medium' }), 'warn', 'severity medium'],
      ['a new low one', brought({ severity: 'low' }), 'pass', null],
      ['a new secret', brought({ severity: 'low', category: 'secret' }), 'fail'],
      ['an old critical one', { finding: { severity: 'critical' } }, 'pass', null],
    ],
  },
};

const read = (file: string) => readFileSync(`${FOLDER}${file}`, 'utf8');

async function compile(file: string, { kind }: Starter): Promise<CompiledPolicy> {
  const checked = await checkPolicy(engine.reactor, { kind, rego: read(file), samples: SAMPLE_INPUTS });
  expect(checked).toMatchObject({ ok: true, errors: [], warnings: [] });
  if (!checked.compiled) throw new Error(`${file} does not compile`);
  return checked.compiled;
}

it('every starter policy is tested here', () => {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.rego'));
  expect(files.sort()).toEqual(Object.keys(STARTERS).sort());
});

describe.each(Object.entries(STARTERS))('%s', (file, starter) => {
  it('is saved without a warning', async () => {
    expect(await compile(file, starter)).toMatchObject({ evaluator: starter.evaluator });
  });

  it('passes its own tests', async () => {
    const { tests, errors } = await engine.reactor.runTests({ kind: starter.kind, rego: read(file) });
    expect(errors).toEqual([]);
    expect(tests.length).toBeGreaterThanOrEqual(3);
    for (const { name, outcome, errors: problems } of tests)
      expect({ name, outcome, problems }).toEqual({ name, outcome: 'pass', problems: [] });
  });

  it('decides as its comment says, whoever evaluates', async () => {
    const policy = await compile(file, starter);
    const inputs = [...SAMPLE_INPUTS, ...starter.cases.map(([, change]) => inputOf(change))];
    const usual = await evaluateMany(engine.evaluators, policy, inputs);
    const byOpa = await evaluateMany(engine.evaluators, { ...policy, evaluator: 'reactor' }, inputs);
    expect(usual).toEqual(byOpa);
    const opinions = usual.map((result) => opinionOf(starter.kind, result));
    expect(opinions.map(({ problem }) => problem)).toEqual(inputs.map(() => null));
    const decisions = opinions.map(({ decision }) => decision);
    expect(decisions.slice(0, SAMPLE_INPUTS.length)).toEqual(starter.ofSamples);
    for (const [index, [name, , decision, reason]] of starter.cases.entries()) {
      const opinion = opinions[SAMPLE_INPUTS.length + index];
      expect({ name, decision: opinion?.decision }).toEqual({ name, decision });
      if (reason !== undefined) expect({ name, reason: opinion?.reason }).toEqual({ name, reason });
    }
  });
});
