import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { checkPolicy } from '#shared/policy/check.ts';
import { GO_SOURCES, HAS_GO, SAMPLES, startEngine, startNative } from './engine.ts';

const engine = startEngine();
afterAll(() => engine[Symbol.asyncDispose]());

async function check(rego: string) {
  return checkPolicy(engine.reactor, { kind: 'triage', rego, samples: SAMPLES });
}

async function errorsOf(rego: string) {
  return (await check(rego)).errors.map(({ code, reason, row, col }) => ({ code, reason, row, col }));
}

const HEAD = 'package svc.triage\nimport rego.v1\n';

describe('what is right', () => {
  test('is compiled, without a word', async () => {
    const checked = await check(
      `${HEAD}default decision := "accept"\ndecision := "reject" if input.finding.kev\n`,
    );
    expect(checked).toMatchObject({ ok: true, errors: [], warnings: [], compiled: { evaluator: 'wasm' } });
    expect(checked.compiled?.wasm.subarray(0, 4)).toEqual(new Uint8Array([0, 0x61, 0x73, 0x6d]));
  });
});

describe('what is wrong', () => {
  test('every statement with a syntax error is told, with row and column', async () => {
    const rego = `${HEAD}a := [1\n\nb if { x == }\n\nc := 1\n\nd := }\n`;
    const errors = await errorsOf(rego);
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['rego_parse_error']));
    const rows = errors.map(({ row }) => row);
    expect(rows).toContain(5);
    expect(rows).toContain(9);
    expect(rows).not.toContain(7);
    expect(rows).toEqual(rows.toSorted((a, b) => Number(a) - Number(b)));
  });

  test('so is every line of one statement, as far as it is wrong in itself', async () => {
    const rego = `${HEAD}b if {\n  p := 1 2\n  q == 1\n  x y\n}\nc := [\n  1,\n  2 3,\n  4,\n]\nd if {\n  e := 1 2\n}\nf := {\n  "a": 1,\n  "b" 2,\n  "c": 3,\n}\n`;
    expect((await errorsOf(rego)).map(({ row }) => row)).toEqual([4, 6, 10, 14, 18]);
  });

  test('syntax comes before the package', async () => {
    expect(await errorsOf('package svc.other\nx := ')).toMatchObject([{ code: 'rego_parse_error', row: 2 }]);
  });

  test('the package comes before compilation', async () => {
    const checked = await check('package svc.priority\nimport rego.v1\nx := y');
    expect(checked.errors).toMatchObject([
      { code: 'invalid_package', row: 1, col: 1, suggestion: 'package svc.triage' },
    ]);
  });

  test('errors of different stages of the compiler are told together', async () => {
    const rego = `${HEAD}unsafe := y if x := 1\ntyped := 1 + "a"\nr if r\nlost := f(1)\n`;
    expect(await errorsOf(rego)).toEqual([
      { code: 'rego_compile_error', reason: 'rego_unsafe_var_error', row: 3, col: 11 },
      { code: 'rego_compile_error', reason: 'rego_type_error', row: 4, col: 10 },
      { code: 'rego_compile_error', reason: 'rego_recursion_error', row: 5, col: 1 },
      { code: 'rego_compile_error', reason: 'rego_type_error', row: 6, col: 9 },
    ]);
  });

  test('errors of as many stages as there are, of rules that can’t be beside each other as well', async () => {
    const rules = [
      'a := 1 + "a"',
      'b := x',
      'c if c',
      'd(x) := x',
      'd(x, y) := x + y',
      'e if { y := 1; y := 2 }',
      'f if { input := 1 }',
      'g := missing(1)',
      'h if { some z }',
      'i := [y | y := z]',
      'j.o := 1',
      'j := 2',
    ];
    const errors = await errorsOf(HEAD + rules.join('\n'));
    const rows = new Set(errors.map(({ row }) => row));
    expect([3, 4, 5, 6, 8, 9, 10, 11, 12, 14].filter((row) => !rows.has(row))).toEqual([]);
    expect(errors.every(({ code }) => code === 'rego_compile_error')).toBe(true);
  });

  test('an evaluation is refused for the same errors as a save', async () => {
    const rego = `${HEAD}a := y\nb := z\nc := 1 + "a"\n${Array.from({ length: 12 }, (_, n) => `r${n} := missing${n}`).join('\n')}\n`;
    const [evaluation] = await engine.reactor.evaluate({ kind: 'triage', rego }, [{}]);
    expect(evaluation?.errors).toEqual((await check(rego)).errors);
    expect(evaluation?.errors).toHaveLength(15);
  });

  test.each(['package svc.triage', `${HEAD}test_a if true\n`])('%j: a policy without rules', async (rego) => {
    const { errors } = await check(rego);
    expect(errors).toMatchObject([{ code: 'rego_compile_error', row: 1, col: 1 }]);
    expect(errors[0]?.message).toContain(
      'has no rules: a policy of the package svc.triage decides by the rule decision',
    );
    const [evaluation] = await engine.reactor.evaluate({ kind: 'triage', rego }, [{}]);
    expect(evaluation?.errors).toEqual(errors);
  });

  test.each([
    ['x := "é😀\ud800"', 9],
    ['x := ["é", "\\ud800"]', 12],
    ['x := "\\uDC00\\ud83d"', 6],
  ])('half of a character, where it is: %j', async (line, col) => {
    expect(await errorsOf(`${HEAD}${line}\n`)).toEqual([
      { code: 'rego_parse_error', reason: 'rego_parse_error', row: 3, col },
    ]);
  });

  test.each(['x := "\\ud83d\\ude00"', 'x := `\\ud800`', 'x := "\\\\ud800"', 'x := 1 # "\\ud800"'])(
    'but not a whole one, or none: %s',
    async (line) => {
      expect(await errorsOf(`${HEAD}${line}\n`)).toEqual([]);
    },
  );

  test.each([
    ['http.send({"method": "get", "url": "http://127.0.0.1"})', 'http.send'],
    ['opa.runtime()', 'opa.runtime'],
    ['net.lookup_ip_addr("example.com")', 'net.lookup_ip_addr'],
    ['net.cidr_contains("10.0.0.0/8", "10.1.1.1")', 'net.cidr_contains'],
    ['rego.parse_module("a", "package a")', 'rego.parse_module'],
    ['trace("x")', 'trace'],
    ['time.now_ns()', 'time.now_ns'],
    ['rand.intn("a", 5)', 'rand.intn'],
    ['uuid.rfc4122("a")', 'uuid.rfc4122'],
    ['io.jwt.decode_verify("a", {})', 'io.jwt.decode_verify'],
    ['io.jwt.encode_sign({}, {}, {})', 'io.jwt.encode_sign'],
    ['crypto.x509.parse_and_verify_certificates("a")', 'crypto.x509.parse_and_verify_certificates'],
  ])('%s is denied by name', async (call, name) => {
    const { errors } = await check(`${HEAD}x := ${call}\n`);
    expect(errors).toMatchObject([{ code: 'rego_compile_error', row: 3, col: 6 }]);
    expect(errors[0]?.message).toContain(`${name} is not available`);
    expect(errors[0]?.suggestion).toContain('input');
  });

  test('a test that the policy itself uses: an evaluation is without it', async () => {
    const { errors } = await check(
      `${HEAD}test_paths := {"test/"}\n\ndecision := "reject" if {\n  some path in test_paths\n  startswith(input.finding.location.path, path)\n}\n\ntest_it if count(test_paths) == 1\n`,
    );
    expect(errors).toMatchObject([{ code: 'rego_compile_error', row: 6, col: 16 }]);
    expect(errors[0]?.message).toContain('test_paths is a test');
  });

  test('a source that is too long, empty, or nested too deeply', async () => {
    expect(await errorsOf(`${HEAD}# ${'x'.repeat(100_000)}`)).toMatchObject([{ code: 'rego_parse_error' }]);
    expect(await errorsOf(' \n')).toMatchObject([{ code: 'rego_parse_error', row: 1 }]);
    expect(await errorsOf(`${HEAD}x := ${'['.repeat(5000)}`)).toMatchObject([
      { code: 'rego_parse_error', row: 3 },
    ]);
  });

  test('no more than a hundred errors', async () => {
    const { errors } = await check(
      HEAD + Array.from({ length: 300 }, (_, n) => `r${n} := missing${n}`).join('\n'),
    );
    expect(errors).toHaveLength(100);
  });
});

describe('conflicts', () => {
  test('show with the values that the policy compares with', async () => {
    const { errors, compiled } = await check(
      `${HEAD}decision := "accept" if input.finding.epss_score >= 0.95\ndecision := "reject" if input.project.name == "legacy"\n`,
    );
    expect(compiled).toBeNull();
    expect(errors).toMatchObject([{ code: 'policy_conflict', reason: 'eval_conflict_error', row: 4 }]);
    expect(errors[0]?.details[0]).toContain('input.project.name = "legacy"');
  });

  test.each([
    [
      'through a name',
      'decision := "a" if { f := input.finding; f.scanner == "gitleaks" }',
      'input.asset.name == "special"',
    ],
    [
      'through a constant',
      'limit := 7.25\ndecision := "a" if input.finding.cvss_score > limit',
      'input.finding.cvss_score > 7.26',
    ],
    ['by membership', 'decision := "a" if input.finding.status in {"resolved"}', 'input.finding.kev'],
    [
      'by a prefix',
      'decision := "a" if startswith(input.finding.location.path, "vendor/")',
      'input.finding.severity == "low"',
    ],
    [
      'of what is not there',
      'decision := "a" if input.pull_request.draft',
      'input.finding.severity == "low"',
    ],
  ])('%s', async (_, first, second) => {
    expect(await errorsOf(`${HEAD}${first}\ndecision := "b" if ${second}\n`)).toMatchObject([
      { code: 'policy_conflict' },
    ]);
  });

  test('are found among many rules', async () => {
    const others = Array.from(
      { length: 12 },
      (_, n) => `note contains "${n}" if input.finding.f${n} == ${n}`,
    );
    const rego = `${HEAD}${others.join('\n')}
decision := "a" if { input.finding.scanner == "gitleaks"; input.finding.cvss_score > 9.5 }
decision := "b" if { input.project.name == "legacy"; input.finding.epss_score < 0.001; not input.finding.kev }
`;
    expect(await errorsOf(rego)).toMatchObject([{ code: 'policy_conflict' }]);
  });

  test('rules that exclude each other are none', async () => {
    const rego = `${HEAD}decision := "a" if input.finding.epss_score >= 0.5\ndecision := "b" if input.finding.epss_score < 0.5\n`;
    expect(await errorsOf(rego)).toEqual([]);
  });
});

describe('advice', () => {
  test.each([
    ['decision = "accept" { input.finding.kev }', 'decision = "accept" if { input.finding.kev }'],
    ['deny[msg] { msg := "x" }', 'deny contains msg if { msg := "x" }'],
    ['allow { input.finding.kev }', 'allow if { input.finding.kev }'],
    ['by_name[n] := 1 { n := "a" }', 'by_name[n] := 1 if { n := "a" }'],
    ['f(x) = y { y := x }', 'f(x) = y if { y := x }'],
    ['c if { input.a && input.b }', 'c if { input.a; input.b }'],
    ["c := 'text'", 'c := "text"'],
    ['c if { !input.a }', 'c if { not input.a }'],
  ])('%s', async (line, fixed) => {
    const { errors } = await check(`${HEAD}\n${line}\n`);
    expect(errors[0]).toMatchObject({ code: 'rego_parse_error', row: 4, suggestion: fixed });
  });

  test.each([
    [
      'decision = "a" { input.a } else = "b" { input.b } else { input.c }',
      'decision = "a" if { input.a } else = "b" if { input.b } else if { input.c }',
    ],
    [
      'decision := "a" if { input.a } else := {"k": 1} { input.b }',
      'decision := "a" if { input.a } else := {"k": 1} if { input.b }',
    ],
    [
      'decision := "a" if { input.a } else := "if " { input.b }',
      'decision := "a" if { input.a } else := "if " if { input.b }',
    ],
  ])('in the line of an else: %s', async (line, fixed) => {
    const { errors } = await check(`${HEAD}${line}\n`);
    expect(new Set(errors.map(({ suggestion }) => suggestion))).toEqual(new Set([fixed]));
    expect(await errorsOf(`${HEAD}${fixed}\n`)).toEqual([]);
  });

  test('all lines of older rules together are right', async () => {
    const lines = [
      'decision = "a" {',
      '  input.a',
      '} else = "b" {',
      '  input.b',
      '}',
      'else = "c" { input.c }',
    ];
    const { errors } = await check(HEAD + lines.join('\n'));
    for (const { row, suggestion } of errors) lines[Number(row) - 3] = suggestion ?? '';
    expect(errors.map(({ row }) => row)).toEqual([3, 5, 8]);
    expect(await errorsOf(HEAD + lines.join('\n'))).toEqual([]);
  });

  test.each(['a if { x := ! }', 'a[x', "a := 'it''s'", 'a if { input.b && }'])(
    'is left out where it would be wrong itself: %s',
    async (line) => {
      const { errors } = await check(`${HEAD}${line}\n`);
      expect(errors.map(({ suggestion }) => suggestion)).toEqual([null]);
    },
  );

  test.each(['any([true])', 'all([true])', 're_match("a", "b")'])('%s is deprecated', async (call) => {
    const { errors } = await check(`${HEAD}x := ${call}\n`);
    expect(errors[0]).toMatchObject({ code: 'rego_compile_error', row: 3 });
    expect(errors[0]?.suggestion).toMatch(/^Instead of /);
  });

  test('warnings refuse nothing', async () => {
    const checked = await check(
      'package svc.triage\nimport data.svc.other\ndecision = "accept" if { unused := 1; input.finding }\nf(x) := 1\n',
    );
    expect(checked.ok).toBe(true);
    expect(checked.warnings.map(({ code, row, suggestion }) => [code, row, suggestion])).toEqual([
      ['missing_import', 1, 'import rego.v1'],
      ['unused', 2, null],
      ['equals_in_head', 3, 'decision := "accept" if { unused := 1; input.finding }'],
      ['unused', 3, null],
      ['unused', 4, null],
    ]);
  });

  test('the assignment that is corrected is the head’s', async () => {
    const { warnings } = await check(`${HEAD}by["a=b"] = 1 if input.x == 1\n`);
    expect(warnings).toMatchObject([
      { code: 'equals_in_head', suggestion: 'by["a=b"] := 1 if input.x == 1' },
    ]);
  });

  test('a decision that its kind can’t use is warned of: constants, and what samples give', async () => {
    const checked = await checkPolicy(engine.reactor, {
      kind: 'priority',
      rego: `package svc.priority
import rego.v1
default priority := "p4"
priority := "urgent" if {
  input.finding.epss_score > 5
} else := true if {
  input.finding.epss_score > 4
} else := 1e400 if {
  input.finding.epss_score > 3
} else := input.finding.severity if input.finding.severity == "high"
`,
      samples: SAMPLES,
    });
    expect(checked.ok).toBe(true);
    const wanted = 'priority must be p0 to p4 or a number up to 2^53, not';
    expect(checked.warnings.map(({ code, row, message }) => [code, row, message])).toEqual([
      ['unusable_decision', 4, `${wanted} "urgent"`],
      ['unusable_decision', 6, `${wanted} true`],
      ['unusable_decision', 8, `${wanted} Infinity`],
      ['unusable_decision', 10, `${wanted} "high"`],
    ]);
  });

  test.each([
    ['triage', 'decision := "exempt"', 0],
    ['triage', 'decision if input', 1],
    ['triage', 'decision contains "accept"', 1],
    ['ownership', 'owner := " "', 1],
    ['ownership', 'owner := null', 0],
    ['pr_scan', 'decision := "warn"', 0],
    ['pr_scan', 'decision := "reject"', 1],
  ] as const)('of the kind %s %s: %d', async (kind, rule, warned) => {
    const rego = `package svc.${kind}\nimport rego.v1\n${rule}\n`;
    const { ok, warnings } = await checkPolicy(engine.reactor, { kind, rego, samples: SAMPLES });
    expect(ok).toBe(true);
    expect(warnings.filter(({ code }) => code === 'unusable_decision')).toHaveLength(warned);
  });

  test('nothing is said of what is as it should be', async () => {
    const { warnings } = await check(
      `${HEAD}a if input.x == 1\nb := {"k": 1}\nc contains x if some x in [1]\nd[k] := v if some k, v in b\n`,
    );
    expect(warnings).toEqual([]);
  });
});

test('the engine is the OPA that go.mod names', async () => {
  const wanted = /open-policy-agent\/opa v(\S+)/.exec(readFileSync(`${GO_SOURCES}go.mod`, 'utf8'))?.[1];
  expect((await engine.reactor.about()).opaVersion).toBe(wanted);
  expect(readFileSync(`${GO_SOURCES}NOTICE`, 'utf8')).toContain(`version ${wanted}`);
});

test.skipIf(!HAS_GO)('checks as the same sources do outside of WebAssembly', async () => {
  const native = startNative();
  try {
    for (const rego of [
      `${HEAD}x := y`,
      `${HEAD}a {`,
      'x',
      `${HEAD}x := http.send({})`,
      `${HEAD}f(x) := x + "1"`,
    ]) {
      const there = (await native.check(rego)).errors as { code: string; row: number; col: number }[];
      const here = await errorsOf(rego);
      expect(here.map(({ reason, row, col }) => [reason, row, col])).toEqual(
        there.map(({ code, row, col }) => [code, row, col]),
      );
    }
  } finally {
    native.close();
  }
});
