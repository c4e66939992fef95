import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkPolicy } from '#shared/policy/check.ts';
import { evaluateMany, type PolicyResult } from '#shared/policy/evaluate.ts';
import { DEFERRED, goFormat } from '#shared/policy/go-format.ts';
import { compiled, SAMPLES, sampleInput, startEngine } from './engine.ts';
import { LANGUAGE_SAMPLES } from './language-samples.ts';

/** Whatever is sent as a policy: an answer comes, and the engine goes on. */
const engine = startEngine();
const RUN = { interruptAfterTimeLimit: 1500, markInterruptAsFailure: false, numRuns: 400 };
const LIMITS = { deadlineMs: 1000 };

beforeAll(() => engine.reactor.about());
afterAll(() => engine[Symbol.asyncDispose]());

const HEAD = 'package svc.triage\nimport rego.v1\n';
const SOURCES = Object.values(LANGUAGE_SAMPLES).map((rules) => HEAD + rules);

async function survives(rego: string): Promise<void> {
  const { ok, errors, compiled } = await checkPolicy(
    engine.reactor,
    { kind: 'triage', rego, samples: SAMPLES },
    LIMITS,
  );
  // An answer is either way complete, and never that the engine itself broke.
  expect(errors.filter(({ reason }) => reason === 'crashed')).toEqual([]);
  expect(ok).toBe(errors.length === 0);
  for (const { row, col, message } of errors) {
    expect(row).toBeLessThanOrEqual(rego.split('\n').length + 1);
    expect(col).toBeGreaterThanOrEqual(0);
    expect(message).not.toBe('');
  }
  if (!compiled) return;
  const results = await evaluateMany(engine.evaluators, compiled, SAMPLES, LIMITS);
  const byOpa = await evaluateMany(engine.evaluators, { ...compiled, evaluator: 'reactor' }, SAMPLES, LIMITS);
  expect(plain(results)).toEqual(plain(byOpa));
}

/** What went wrong is told in other words, but goes wrong in both. */
function plain(results: readonly PolicyResult[]): object[] {
  return results.map((result) => ('error' in result ? { error: result.error.code } : result));
}

const TOKENS = [
  ...'{}[]()|&:=,.;"`#$@!%*+-/<>\\\n \t0',
  ...[
    ' if ',
    ' else ',
    ' := ',
    ' == ',
    ' in ',
    'some ',
    'every ',
    'not ',
    ' with ',
    ' as ',
    'default ',
    'contains ',
  ],
  ...[
    'import ',
    'package ',
    'input',
    'data',
    'x',
    'null',
    'true',
    '1e999',
    '-0',
    '"\\u0000"',
    '😀',
    '\ud800',
    'count(',
    'sprintf("%v"',
  ],
];

test('tokens in any order', async () => {
  const rules = fc
    .array(fc.constantFrom(...TOKENS), { maxLength: 60 })
    .map((tokens) => HEAD + tokens.join(''));
  await fc.assert(fc.asyncProperty(rules, survives), RUN);
});

test('policies with pieces lost, doubled, swapped and put in', async () => {
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.nat(12),
    text: fc.oneof(fc.constant(''), fc.constantFrom(...TOKENS), fc.string({ unit: 'binary', maxLength: 4 })),
  });
  const mutated = fc
    .tuple(fc.constantFrom(...SOURCES), fc.array(edit, { minLength: 1, maxLength: 4 }))
    .map(([source, edits]) =>
      edits.reduce((text, { at, length, text: put }) => {
        const place = Math.floor(at * text.length);
        return text.slice(0, place) + put + text.slice(place + length);
      }, source),
    );
  await fc.assert(fc.asyncProperty(mutated, survives), RUN);
});

/** Words of one class, which stand for each other: what comes of it usually compiles. */
const CLASSES = [
  [
    'input.finding.severity',
    'input.finding.kev',
    'input.finding.cwe',
    'input.finding.package',
    'input.absent',
    'input.finding',
    'input',
  ],
  [
    'input.finding.epss_score',
    'input.finding.age_days',
    'input.finding.cvss_score',
    '1',
    '0.5',
    '-3',
    '1.0',
    '100',
  ],
  [
    '"low"',
    '"high"',
    '"test/"',
    '""',
    '"a"',
    '"CVE-"',
    'null',
    'true',
    '[1, "a"]',
    '{1, "b"}',
    '{"a": {2}}',
    'set()',
  ],
  [' == ', ' != ', ' < ', ' >= ', ' in '],
  [' + ', ' - ', ' * ', ' / ', ' % ', ' & ', ' | '],
  ['count(', 'sum(', 'max(', 'sort(', 'type_name(', 'upper(', 'is_set(', 'object.keys('],
  [
    '["a", "b"]',
    '{"b", "a"}',
    'input.project.labels',
    'input.finding.cwe',
    'numbers.range(1, 5)',
    '{3, 1, 2}',
  ],
];

test('policies with words in place of others', async () => {
  const swap = fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), by: fc.nat(20) });
  const words = new RegExp(
    CLASSES.flat()
      .map((word) => word.replace(/[^\w ]/g, '\\$&'))
      .join('|'),
    'g',
  );
  const mutated = fc
    .tuple(fc.constantFrom(...SOURCES), fc.array(swap, { minLength: 1, maxLength: 5 }))
    .map(([source, swaps]) =>
      swaps.reduce((text, { at, by }) => {
        const found = [...text.matchAll(words)];
        const chosen = found[Math.floor(at * found.length)];
        const others = CLASSES.find((words) => chosen && words.includes(chosen[0]));
        if (!chosen || !others) return text;
        const put = others[by % others.length] ?? '';
        return text.slice(0, chosen.index) + put + text.slice(chosen.index + chosen[0].length);
      }, source),
    );
  await fc.assert(fc.asyncProperty(mutated, survives), RUN);
});

test('deep nesting and long chains', async () => {
  const depth = 3000;
  const shapes = [
    `x := ${'['.repeat(depth)}1${']'.repeat(depth)}`,
    `x := ${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
    `x := ${'('.repeat(depth)}1${')'.repeat(depth)}`,
    `x := [${'[y | y := '.repeat(150)}1${']'.repeat(150)}]`,
    `x if ${'not '.repeat(depth)}true`,
    `x := ${'-'.repeat(depth)}1`,
    `x := ${'1 + '.repeat(500)}1`,
    `x := input${'.a'.repeat(depth)}`,
    `x := input${'[0]'.repeat(depth)}`,
    `x if { a := 1 } ${'else := 2 if { input.b } '.repeat(500)}`,
    `x := "${'a'.repeat(90_000)}"`,
    `x := 1${'0'.repeat(50_000)}`,
    Array.from({ length: 2000 }, (_, n) => `r${n} := ${n}`).join('\n'),
    `x if {\n${'  input.a == 1\n'.repeat(3000)}}`,
    '{'.repeat(depth),
    `x := \`${'{'.repeat(depth)}\``,
    '#'.repeat(90_000),
  ];
  for (const shape of shapes) {
    const { errors } = await checkPolicy(
      engine.reactor,
      { kind: 'triage', rego: HEAD + shape, samples: SAMPLES },
      LIMITS,
    );
    expect(errors.filter(({ reason }) => reason === 'crashed')).toEqual([]);
  }
  await survives(`${HEAD}x := 1`);
});

test('inputs of any shape, large and deep ones too', async () => {
  const policy = await compiled(
    engine.reactor,
    'n := count([1 | walk(input, [_, v]); is_number(v)])\nt := type_name(input.a)\nk := object.keys(input)',
  );
  const nested = (depth: number) => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
  const large = { a: Array.from({ length: 20_000 }, (_, n) => ({ ...sampleInput(n).finding })) };
  const circular: unknown[] = [];
  circular.push(circular);
  const inputs = [nested(500), nested(5000), circular, large, { a: 'x'.repeat(5_000_000) }, [], null];
  const results = await evaluateMany(engine.evaluators, policy, inputs);
  expect(results).toHaveLength(inputs.length);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 20 }), async (values) => {
      const rules = { ...policy, evaluator: 'wasm' } as const;
      const [here, there] = await Promise.all([
        evaluateMany(engine.evaluators, rules, values),
        evaluateMany(engine.evaluators, { ...policy, evaluator: 'reactor' }, values),
      ]);
      const sorted = (results: PolicyResult[]) =>
        JSON.parse(JSON.stringify(results, (key, value) => (key === 'k' ? [...value].sort() : value)));
      expect(sorted(here)).toEqual(sorted(there));
    }),
    { ...RUN, numRuns: 50 },
  );
});

test('formats are written as Go writes them, or deferred', async () => {
  const verb = fc
    .tuple(
      fc.constantFrom('', '', '-', '0', '+', '-0'),
      fc.constantFrom('', '', '3', '8', '12'),
      fc.constantFrom('', '', '.0', '.1', '.2', '.', '.10'),
      fc.constantFrom('s', 'v', 'd', 'f', 'v', 'd', 'x', 'q', '%', '😀'),
    )
    .map((parts) => `%${parts.join('')}`);
  const format = fc
    .array(fc.oneof(verb, fc.constantFrom('a', ' ', '%', '%%', 'é')), { maxLength: 4 })
    .map((parts) => parts.join(''));
  const value = fc.oneof(
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.double({ min: -100, max: 100, noNaN: true }),
    fc.integer({ min: -1000, max: 1000 }).map((n) => n / 8),
    fc.constantFrom('text', 'añ😀', '', true, null),
    fc.constant([1]),
  );
  const cases = fc.sample(fc.record({ format, values: fc.array(value, { maxLength: 3 }) }), 3000);
  const policy = { kind: 'triage', rego: `${HEAD}text := sprintf(input.format, input.values)` } as const;
  const told = await engine.reactor.evaluate(policy, cases);
  const wrong = cases.flatMap(({ format, values }, index) => {
    // As values come out of WebAssembly.
    const text = goFormat(format, JSON.parse(JSON.stringify(values)));
    const actual = (told[index]?.result as { text: string } | undefined)?.text;
    return text === DEFERRED || text === actual ? [] : [{ format, values, text, actual }];
  });
  expect(wrong).toEqual([]);
});

test('arithmetic is the same, whoever evaluates', async () => {
  const integer = fc.integer({ min: -100_000, max: 100_000 });
  const number = fc.oneof(
    integer,
    fc.integer({ min: -100_000, max: 100_000 }).map((n) => n / 1000),
    fc.double({ min: 0, max: 1, noNaN: true }),
  );
  const cases = fc.sample(fc.record({ a: number, b: number, i: integer, j: integer }), 1500);
  const rules = `
     plus_ := input.OP + input.OQ + 3
     difference := input.OP - input.OQ
     times := input.OP * input.OQ
     remainder := input.OP % input.OQ
     total := sum([input.OP, input.OQ, 7])
     rounded := [round(input.OP), abs(input.OP)]
     compared := [input.OP < input.OQ, input.OP == input.OQ, input.OP >= input.OQ]`;
  for (const [p, q, evaluator] of [
    ['i', 'j', 'wasm'],
    ['a', 'b', 'reactor'],
  ] as const) {
    const rego = HEAD + rules.replaceAll('OP', p).replaceAll('OQ', q);
    const samples = [{ a: 0.5, b: 1, i: 1, j: 2 }];
    const checked = await checkPolicy(engine.reactor, { kind: 'triage', rego, samples });
    if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
    expect(checked.compiled.evaluator).toBe(evaluator);
    const here = await evaluateMany(engine.evaluators, checked.compiled, cases);
    const there = await evaluateMany(engine.evaluators, { ...checked.compiled, evaluator: 'reactor' }, cases);
    expect(here).toEqual(there);
  }
});
