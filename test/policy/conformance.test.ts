import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkPolicy } from '#shared/policy/check.ts';
import { evaluateMany, type PolicyResult } from '#shared/policy/evaluate.ts';
import { BUILTIN_SAMPLES, NOT_CALLABLE } from './builtin-samples.ts';
import { HAS_GO, SAMPLES, sampleInput, startEngine, startNative } from './engine.ts';
import { LANGUAGE_SAMPLES } from './language-samples.ts';

/** The same answer, whoever evaluates: OPA's WebAssembly, OPA in the reactor, and OPA as it was made to run. */
const engine = startEngine();
const native = HAS_GO ? startNative() : null;
if (!native) console.warn('Go is not here: what policies decide is not compared with native OPA');

const INPUTS = Array.from({ length: 40 }, (_, number) => sampleInput(number));
const SMALL = { severity: 'high', number: 0.7, integer: 3 };

beforeAll(() => engine.reactor.about());
afterAll(async () => {
  native?.close();
  await engine[Symbol.asyncDispose]();
});

async function expectSame(rules: string, inputs: readonly unknown[]): Promise<'wasm' | 'reactor'> {
  const rego = `package svc.triage\nimport rego.v1\n${rules}\n`;
  const samples = inputs.slice(0, 5);
  let checked = await checkPolicy(engine.reactor, { kind: 'triage', rego, samples });
  // A conflict is left for the evaluations to find.
  if (checked.errors[0]?.code === 'policy_conflict')
    checked = await checkPolicy(engine.reactor, { kind: 'triage', rego, samples: [] });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  const usual = plain(await evaluateMany(engine.evaluators, checked.compiled, inputs));
  const byReactor = plain(
    await evaluateMany(engine.evaluators, { ...checked.compiled, evaluator: 'reactor' }, inputs),
  );
  expect(usual).toEqual(byReactor);
  if (native) expect(byReactor).toEqual(await native.evaluate(rego, inputs));
  return checked.compiled.evaluator;
}

function plain(results: readonly PolicyResult[]): object[] {
  return results.map((result) => ('error' in result ? { error: result.error.code } : result));
}

describe('the language', () => {
  test.each(Object.entries(LANGUAGE_SAMPLES))('%s', async (_, rules) => {
    await expectSame(rules, INPUTS);
  });
});

describe('builtins', () => {
  test('every one that policies may call has samples', async () => {
    const { builtins } = await engine.reactor.about();
    const expected = builtins.filter((name) => !NOT_CALLABLE.includes(name));
    expect(Object.keys(BUILTIN_SAMPLES).sort()).toEqual([...expected].sort());
  });

  test.each(Object.entries(BUILTIN_SAMPLES))('%s', async (_, expressions) => {
    await expectSame(expressions.map((expression, index) => `r${index} := ${expression}`).join('\n'), [
      SMALL,
    ]);
  });

  test('what formats text, each by itself, as one that is deferred defers its whole policy', async () => {
    for (const expression of BUILTIN_SAMPLES.sprintf ?? []) await expectSame(`r := ${expression}`, [SMALL]);
  });
});

test('a policy of the usual kind runs as WebAssembly', async () => {
  const rules = `
    default decision := "accept"
    decision := "reject" if { input.finding.severity in {"low", "info"}; input.finding.epss_score < 0.01 }
    reason := sprintf("%s of %s", [decision, input.finding.severity])
    labels contains l if some l in input.project.labels
    owner := concat("/", [x | some x in split(input.finding.location.path, "/"); x != "src"])`;
  expect(await expectSame(rules, SAMPLES)).toBe('wasm');
});
