import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompressSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { evaluateMany } from '#shared/policy/evaluate.ts';
import { compiled, sampleInput, startEngine } from './engine.ts';

const engine = startEngine();
const { reactor, bulk } = engine;
afterAll(() => engine[Symbol.asyncDispose]());

const ERROR = { error: { code: 'policy_evaluation_error' } };

describe('results', () => {
  test('are as many as inputs, and in their order', async () => {
    const policy = await compiled(reactor, 'n := input.n if input.n % 3 != 0');
    const inputs = Array.from({ length: 5000 }, (_, n) => ({ n }));
    const results = await bulk.evaluateMany(policy, inputs);
    expect(results).toEqual(inputs.map(({ n }) => ({ result: n % 3 === 0 ? {} : { n } })));
    expect(await bulk.evaluateMany(policy, [])).toEqual([]);
  });

  test('a conflict or an error of one input leaves the others alone', async () => {
    const policy = await compiled(
      reactor,
      'd := 1 if input.a\nd := 2 if input.b\nlong := numbers.range(1, 20000) if input.long\nx := 1 / input.n',
    );
    const inputs = [{ a: 1 }, { a: 1, b: 1 }, { long: 1 }, { b: 1 }, { n: 0 }, { n: 2 }, { a: 1, b: 1 }, {}];
    expect(await bulk.evaluateMany(policy, inputs)).toMatchObject([
      { result: { d: 1 } },
      { error: { code: 'policy_conflict', message: expect.stringContaining('line 4') } },
      { error: { code: 'policy_evaluation_error', message: 'The result is larger than allowed' } },
      { result: { d: 2 } },
      { result: {} },
      { result: { x: 0.5 } },
      { error: { code: 'policy_conflict' } },
      { result: {} },
    ]);
  });

  test('any JSON is an input', async () => {
    const policy = await compiled(reactor, 't := type_name(input)');
    const results = await bulk.evaluateMany(policy, [null, false, 0, '', [], {}, undefined, 'añ😀']);
    expect(results).toEqual(
      ['null', 'boolean', 'number', 'string', 'array', 'object', 'null', 'string'].map((t) => ({
        result: { t },
      })),
    );
  });

  test('rules that are sets come sorted', async () => {
    const policy = await compiled(reactor, 's contains x if some x in input.xs');
    const xs = ['b', '😀', 'ﬀ', 10, 9, 'a', true, null, false];
    expect(await bulk.evaluateMany(policy, [{ xs }, { xs: [[1]] }])).toEqual([
      { result: { s: [null, false, true, 9, 10, 'a', 'b', 'ﬀ', '😀'] } },
      { deferred: true },
    ]);
  });
});

describe('limits', () => {
  test('a runaway takes its own result, and those behind it; what was before stays', async () => {
    const policy = await compiled(
      reactor,
      'n := count([1 | input.run; some i in numbers.range(1, 3000); some j in numbers.range(1, 3000); i * j == -1])',
    );
    const inputs = Array.from({ length: 3000 }, (_, n) => ({ run: n === 2500 }));
    // Memory enough for it to run on: its time is what ends it.
    const results = await bulk.evaluateMany(policy, inputs, { deadlineMs: 1500, memoryPages: 32_768 });
    expect(results).toHaveLength(3000);
    expect(results.slice(0, 2000).every((result) => 'result' in result)).toBe(true);
    expect(results[2500]).toMatchObject(ERROR);
    expect(results[2999]).toMatchObject(ERROR);
    // The thread is another one.
    expect(await bulk.evaluateMany(policy, [{}])).toEqual([{ result: { n: 0 } }]);
  });

  test('memory ends an input, not the call', async () => {
    const policy = await compiled(reactor, 'n := count(numbers.range(1, input.n))');
    const inputs = [{ n: 10 }, { n: 50_000_000 }, { n: 20 }];
    expect(await bulk.evaluateMany(policy, inputs, { memoryPages: 256 })).toMatchObject([
      { result: { n: 10 } },
      { error: { code: 'policy_evaluation_error', message: 'The policy takes more memory than allowed' } },
      { result: { n: 20 } },
    ]);
  });

  test('an input larger than the memory', async () => {
    const policy = await compiled(reactor, 'n := count(input.text)');
    const inputs = [{ text: 'x'.repeat(30_000_000) }, { text: 'abc' }];
    expect(await bulk.evaluateMany(policy, inputs, { memoryPages: 256 })).toMatchObject([
      ERROR,
      { result: { n: 3 } },
    ]);
  });

  test('results have a size, each and together', async () => {
    const policy = await compiled(reactor, 'xs := numbers.range(1, input.n)');
    expect(await bulk.evaluateMany(policy, [{ n: 1000 }, { n: 5 }], { maxOutputBytes: 500 })).toMatchObject([
      ERROR,
      { result: { xs: [1, 2, 3, 4, 5] } },
    ]);
    const many = Array.from({ length: 3000 }, () => ({ n: 50 }));
    const results = await bulk.evaluateMany(policy, many, { maxTotalOutputBytes: 100_000 });
    const given = results.filter((result) => 'result' in result).length;
    expect(given).toBeGreaterThan(100);
    expect(given).toBeLessThan(1000);
    expect(results).toHaveLength(3000);
  });

  test('results have a depth, the same whoever evaluates', async () => {
    const policy = await compiled(reactor, 'out := input');
    const nested = (depth: number) => JSON.parse(`${'{"]":'.repeat(depth)}1${'}'.repeat(depth)}`);
    const inputs = [nested(499), nested(500), nested(4000), 1];
    for (const evaluator of ['wasm', 'reactor'] as const) {
      const results = await evaluateMany(engine.evaluators, { ...policy, evaluator }, inputs);
      expect(results.map((result) => Object.keys(result)[0])).toEqual(['result', 'error', 'error', 'result']);
    }
  });

  test('calls do not disturb each other', async () => {
    const [slow, quick] = await Promise.all([
      compiled(
        reactor,
        'n := count([1 | some i in numbers.range(1, 3000); some j in numbers.range(1, 3000); i * j == -1])',
      ),
      compiled(reactor, 'n := input.n'),
    ]);
    const [first, ...others] = await Promise.all([
      bulk.evaluateMany(slow, [{}, {}], { deadlineMs: 200, memoryPages: 32_768 }),
      ...[1, 2, 3].map((n) => bulk.evaluateMany(quick, [{ n }])),
    ]);
    expect(first).toMatchObject([ERROR, ERROR]);
    expect(others).toEqual([1, 2, 3].map((n) => [{ result: { n } }]));
  });

  test('more policies than are kept', async () => {
    const policies = await Promise.all(Array.from({ length: 20 }, (_, n) => compiled(reactor, `n := ${n}`)));
    for (let round = 0; round < 2; round += 1)
      for (const [n, policy] of policies.entries())
        expect(await bulk.evaluateMany(policy, [{}])).toEqual([{ result: { n } }]);
  });
});

describe('who evaluates', () => {
  test('a policy that needs what WebAssembly lacks is the reactor’s', async () => {
    const policy = await compiled(
      reactor,
      'id := crypto.sha256(input.finding.id)\nd := 1 if input.finding.kev\nd := 2 if input.finding.id == "f_31"',
    );
    expect(policy.evaluator).toBe('reactor');
    const results = await evaluateMany(engine.evaluators, policy, [sampleInput(1), sampleInput(31)]);
    expect(results).toMatchObject([
      { result: { id: expect.any(String) } },
      { error: { code: 'policy_conflict' } },
    ]);
  });

  test('an input that only OPA can tell is the reactor’s, alone', async () => {
    const policy = await compiled(reactor, 'text := sprintf("%v", [input.x])');
    expect(policy.evaluator).toBe('wasm');
    const inputs = [{ x: 'a' }, { x: [1, 'b'] }, { x: 2 }];
    expect(await bulk.evaluateMany(policy, inputs)).toMatchObject([
      { result: {} },
      { deferred: true },
      { result: {} },
    ]);
    expect(await evaluateMany(engine.evaluators, policy, inputs)).toEqual([
      { result: { text: 'a' } },
      { result: { text: '[1, "b"]' } },
      { result: { text: '2' } },
    ]);
  });

  test('what only evaluates can’t even read the reactor', async () => {
    const policy = await compiled(reactor, 'n := input.n');
    const root = fileURLToPath(new URL('../../', import.meta.url));
    const script = `
      const { brotliDecompressSync } = await import('node:zlib');
      const { createBulk } = await import(${JSON.stringify(`${root}shared/policy/bulk.ts`)});
      const { evaluateMany } = await import(${JSON.stringify(`${root}shared/policy/evaluate.ts`)});
      const { policyFiles } = await import(${JSON.stringify(`${root}shared/policy/files.ts`)});
      const bulk = createBulk(policyFiles());
      const wasm = new Uint8Array(brotliDecompressSync(Buffer.from(process.env.POLICY, 'base64')));
      const policy = { kind: 'triage', rego: '', wasm, sets: [], evaluator: 'wasm' };
      const reactor = () => { throw new Error('the reactor was asked for'); };
      console.log(JSON.stringify(await evaluateMany({ bulk, reactor }, policy, [{ n: 1 }, { n: 2 }])));
      const { readFileSync } = await import('node:fs');
      try { readFileSync(policyFiles().reactor); console.log('readable'); } catch { console.log('unreadable'); }
      await bulk.close();`;
    // Node's own permissions: the sources that it needs, and no other file of the project.
    const sources = [
      'bulk',
      'bulk-messages',
      'bulk-worker',
      'evaluate',
      'files',
      'go-format',
      'hosted-builtins',
      'input-json',
      'json-depth',
      'loaded-policies',
      'sort-sets',
    ].map((name) => `shared/policy/${name}.ts`);
    const threads = ['expendable-worker', 'turns'].map((name) => `shared/threads/${name}.ts`);
    const shared = ['package.json', 'node_modules/*', 'shared/domain/errors.ts'];
    const allowed = [...shared, ...threads, ...sources];
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        '--permission',
        '--allow-worker',
        ...allowed.map((path) => `--allow-fs-read=${root}${path}`),
        '--input-type=module',
        '-e',
        script,
      ],
      {
        env: { PATH: process.env.PATH, POLICY: brotliCompressSync(policy.wasm).toString('base64') },
        cwd: root,
      },
    );
    expect(stdout.trim().split('\n')).toEqual(['[{"result":{"n":1}},{"result":{"n":2}}]', 'unreadable']);
  });
});
