/** One result of a SARIF log, in what tests change of it. */
export interface SarifResult {
  readonly rule?: string;
  readonly path?: string;
  readonly line?: number;
  readonly level?: 'error' | 'warning' | 'note' | 'none';
  readonly score?: string;
  readonly text?: string;
  readonly print?: string;
  readonly snippet?: string;
}

/** A SARIF 2.1.0 log of one run. */
export function sarifLog(results: readonly SarifResult[], driver = 'Semgrep OSS') {
  return {
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: driver, rules: [{ id: 'r', shortDescription: { text: 'A rule' } }] } },
        results: results.map((one) => ({
          ruleId: one.rule ?? 'r',
          level: one.level ?? 'warning',
          message: { text: one.text ?? 'Something is wrong here' },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: one.path ?? 'src/app.ts' },
                region: {
                  startLine: one.line ?? 1,
                  ...(one.snippet !== undefined && { snippet: { text: one.snippet } }),
                },
              },
            },
          ],
          ...(one.print !== undefined && { partialFingerprints: { primaryLocationLineHash: one.print } }),
          ...(one.score !== undefined && { properties: { 'security-severity': one.score } }),
        })),
      },
    ],
  };
}

/** A log of so many different results, some of every severity; about 600 bytes each, as real ones are. */
export function largeSarif(count: number, seed = 'x', runs = 1) {
  const scores = ['9.8', '7.5', '5.0', '2.0', '0.0'];
  const results = Array.from({ length: count }, (_, index) => ({
    rule: `rule-${index % 50}`,
    path: `src/module-${index % 400}/file-${index}.ts`,
    line: 1 + (index % 900),
    score: scores[index % scores.length] ?? '5.0',
    print: `${seed}-${index}`,
    text: `Result ${index}: a value that somebody else controls reaches a call that trusts it; validate it first. ${'It flows through several functions on its way. '.repeat(4)}`,
  }));
  const log = sarifLog([]);
  const size = Math.ceil(count / runs);
  return {
    ...log,
    runs: Array.from(
      { length: runs },
      (_, run) => sarifLog(results.slice(run * size, (run + 1) * size)).runs[0],
    ),
  };
}
