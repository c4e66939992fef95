import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { policyFiles } from '#shared/policy/files.ts';
import type { PolicySource } from '#shared/policy/kinds.ts';
import { createReactor } from '#shared/policy/reactor.ts';
import { sampleInput, startEngine } from './engine.ts';

const engine = startEngine();
const { reactor } = engine;
afterAll(() => engine[Symbol.asyncDispose]());

function policy(rules: string): PolicySource {
  return { kind: 'triage', rego: `package svc.triage\nimport rego.v1\n${rules}\n` };
}

/** A hundred million steps. */
const RUNAWAY = policy(
  'n := count([1 | some i in numbers.range(1, 1000); some j in numbers.range(1, 100000); i * j == -1])',
);
/** One step, in which nobody asks for the time: only the end of its thread ends it. */
const DEAF = policy(`x := ${'1+'.repeat(40_000)}1`);
const HUNGRY = policy(
  's := [concat("", ["x", format_int(i * j, 10)]) | some i in numbers.range(1, 1000); some j in numbers.range(1, 100000)]',
);

describe('evaluation', () => {
  test('gives results in order, and what was printed with each', async () => {
    const printing = policy(
      'decision := "accept" if { print("severity", input.finding.severity); input.finding.kev }',
    );
    const results = await reactor.evaluate(printing, [sampleInput(0), sampleInput(1)]);
    expect(results).toEqual([
      { result: { decision: 'accept' }, errors: [], output: [{ row: 3, text: 'severity critical' }] },
      { result: {}, errors: [], output: [{ row: 3, text: 'severity high' }] },
    ]);
  });

  test('a conflict is an error of its input alone', async () => {
    const results = await reactor.evaluate(policy('d := 1 if input.a\nd := 2 if input.b'), [
      { a: true },
      { a: true, b: true },
      { b: true },
    ]);
    expect(results).toMatchObject([
      { result: { d: 1 } },
      { errors: [{ code: 'policy_conflict', row: 4 }] },
      { result: { d: 2 } },
    ]);
  });

  test('a policy that is refused says why for each input', async () => {
    expect(await reactor.evaluate(policy('x := y'), [1, 2])).toMatchObject([
      { errors: [{ code: 'rego_compile_error', row: 3 }] },
      { errors: [{ code: 'rego_compile_error', row: 3 }] },
    ]);
  });

  test('any JSON is an input, none included', async () => {
    const type = policy('t := type_name(input)');
    const results = await reactor.evaluate(type, [null, false, 0, '', [], {}, undefined]);
    expect(results.map(({ result }) => result)).toEqual(
      ['null', 'boolean', 'number', 'string', 'array', 'object', 'null'].map((t) => ({ t })),
    );
  });

  test('many policies are ready at once, more than are kept', async () => {
    const numbers = Array.from({ length: 40 }, (_, number) => number);
    for (let round = 0; round < 2; round += 1) {
      const results = await Promise.all(
        numbers.map((number) => reactor.evaluate(policy(`n := ${number}`), [{}])),
      );
      expect(results.map(([first]) => first?.result)).toEqual(numbers.map((n) => ({ n })));
    }
  });

  test('results and prints have a size', async () => {
    const large = policy('out := numbers.range(1, 100000)');
    expect(await reactor.evaluate(large, [{}], { outputBytes: 1000 })).toMatchObject([
      { errors: [{ code: 'policy_evaluation_error', reason: 'output_too_large' }] },
    ]);
    const talkative = policy('n := count([1 | some i in numbers.range(1, 5000); print(i)])');
    const [talked] = await reactor.evaluate(talkative, [{}], { outputBytes: 1000 });
    expect(talked?.result).toEqual({ n: 5000 });
    expect(talked?.output.length).toBeLessThan(50);
    expect(talked?.output.at(-1)?.text).toContain('more was printed');
  });
});

describe('what takes too much', () => {
  test('a runaway ends at its deadline, and nobody else notices', async () => {
    const [ran, ...others] = await Promise.all([
      reactor.evaluate(RUNAWAY, [{}], { deadlineMs: 200 }),
      ...[1, 2, 3].map((n) => reactor.evaluate(policy(`n := ${n}`), [{}])),
    ]);
    expect(ran).toMatchObject([
      { errors: [{ code: 'policy_evaluation_error', reason: 'deadline_exceeded' }] },
    ]);
    expect(others.map((each) => each[0]?.result)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  test('is told with its limit, and with what took so long', async () => {
    const [ran] = await reactor.evaluate(RUNAWAY, [{}], { deadlineMs: 200 });
    expect(ran?.errors).toMatchObject([{ message: 'The evaluation took longer than its limit of 200 ms' }]);
    const checked = await reactor.check(DEAF, [], { deadlineMs: 200 });
    expect(checked.errors).toMatchObject([
      { message: 'Checking the policy took longer than its limit of 200 ms', row: null, col: null },
    ]);
    const [compiled] = await reactor.evaluate(DEAF, [{}], { deadlineMs: 200 });
    expect(compiled?.errors).toMatchObject([
      { message: 'Compiling the policy took longer than its limit of 200 ms', row: null },
    ]);
  });

  test('what does not listen loses its thread, and the next call has another', async () => {
    const [ran, ...others] = await Promise.all([
      reactor.check(DEAF, [], { deadlineMs: 200 }),
      ...[1, 2, 3].map((n) => reactor.evaluate(policy(`n := ${n}`), [{}])),
    ]);
    expect(ran).toMatchObject({
      ok: false,
      errors: [{ code: 'policy_evaluation_error', reason: 'deadline_exceeded' }],
    });
    expect(others.map((each) => each[0]?.result)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  test('memory has an end', async () => {
    const [ran, other] = await Promise.all([
      reactor.evaluate(HUNGRY, [{}], { deadlineMs: 60_000 }),
      reactor.evaluate(policy('n := 1'), [{}]),
    ]);
    expect(ran).toMatchObject([{ errors: [{ code: 'policy_evaluation_error', reason: 'memory_exceeded' }] }]);
    expect(other).toMatchObject([{ result: { n: 1 } }]);
  });

  test('so has memory that a single step takes', async () => {
    const step = policy(
      'n := count(json.unmarshal(concat("", ["[1", concat(",1", [x | some x in numbers.range(1, 9000000); y := x * 0]), "]"])))',
    );
    const ran = await reactor.evaluate(step, [{}], { deadlineMs: 60_000, heapBytes: 2 ** 40 });
    expect(ran).toMatchObject([{ errors: [{ code: expect.any(String) }] }]);
    expect(await reactor.evaluate(policy('n := 1'), [{}])).toMatchObject([{ result: { n: 1 } }]);
  });
});

describe('tests of a policy', () => {
  test('are reported by name, in the order of the source', async () => {
    const { errors, tests } = await reactor.runTests(
      policy(`
        decision := "accept" if input.a
        decision := "reject" if input.b
        test_passes if decision == "accept" with input as {"a": true}
        test_fails if { print("here"); decision == "accept" with input as {"b": true} }
        test_errs if decision == "accept" with input as {"a": true, "b": true}
        test_false := false
        not_a_test if true`),
    );
    expect(errors).toEqual([]);
    expect(tests.map(({ name, row, outcome }) => [name, row, outcome])).toEqual([
      ['test_passes', 6, 'pass'],
      ['test_fails', 7, 'fail'],
      ['test_errs', 8, 'error'],
      ['test_false', 9, 'fail'],
    ]);
    expect(tests[1]?.output).toEqual([{ row: 7, text: 'here' }]);
    expect(tests[2]?.errors).toMatchObject([{ code: 'policy_conflict' }]);
    expect(tests.every(({ durationMs }) => durationMs >= 0)).toBe(true);
  });

  test('of a policy that does not compile: its errors', async () => {
    expect(await reactor.runTests(policy('test_a if x'))).toMatchObject({
      errors: [{ code: 'rego_compile_error', row: 3 }],
      tests: [],
    });
  });

  test('that run away are ended', async () => {
    const { tests } = await reactor.runTests(
      policy(
        'test_a if count([1 | some i in numbers.range(1, 1000); some j in numbers.range(1, 100000); i * j == -1]) == 0',
      ),
      { deadlineMs: 200 },
    );
    expect(tests).toMatchObject([{ outcome: 'error', errors: [{ reason: 'deadline_exceeded' }] }]);
  });
});

describe('the artefact', () => {
  test('is loaded only if it is what its digest says', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'policy-artefact-'));
    const files = policyFiles();
    const changed = createReactor({ ...files, reactor: join(folder, 'opa.wasm.br') });
    try {
      await writeFile(join(folder, 'opa.wasm.br'), 'something else');
      await copyFile(`${files.reactor}.sha256`, join(folder, 'opa.wasm.br.sha256'));
      await expect(changed.about()).rejects.toThrow('SHA-256');
      // The failure is not kept.
      await copyFile(files.reactor, join(folder, 'opa.wasm.br'));
      expect((await changed.about()).opaVersion).not.toBe('');
    } finally {
      await changed.close();
      await rm(folder, { recursive: true });
    }
  });

  test('is not touched before the first call', async () => {
    const nowhere = createReactor({ reactorWorker: '/nowhere', reactor: '/nowhere' });
    await nowhere.close();
    await expect(nowhere.about()).rejects.toThrow('closed');
  });
});
