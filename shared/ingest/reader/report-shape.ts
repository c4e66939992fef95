import type { Shape } from '#shared/json/filter.ts';
import { ALL, fieldsOf, membersOf, shapeOf } from '#shared/json/shape.ts';
import { match } from '#shared/reports/grype.ts';
import { MAX_RESULTS } from '#shared/reports/sarif.ts';
import { result, sarifLog } from '#shared/reports/sarif-log.ts';
import { vulnerability } from '#shared/reports/trivy.ts';

/** What a result says more than so often (its locations, say) is not looked at. */
const MOST_IN_RESULT = 1000;
/** Rules, artifacts, taxa and the like of a run. */
const MOST_IN_RUN = 100_000;
const MOST_RUNS = 1000;

/** Most results are small: these are taken as they stand. What a larger one says besides is left out. */
const SMALL = 2048;

/** A list whose elements are read one by one. */
function each(
  name: string,
  of: Shape,
  most = Number.POSITIVE_INFINITY,
  whole = SMALL,
): readonly [string, Shape] {
  return [name.split('.').at(-1) ?? name, { elements: of, handOver: name, most, whole }];
}

function sarifRun(): Shape {
  const runs =
    shapeOf(sarifLog, { most: MOST_IN_RUN, strict: true }).members?.get('runs')?.elements?.members ?? [];
  return membersOf([...runs, each('runs.results', shapeOf(result, { most: MOST_IN_RESULT }), MAX_RESULTS)]);
}

const trivyTarget: Shape = membersOf([
  ...fieldsOf('Target', 'Class', 'Type'),
  each('Results.Vulnerabilities', shapeOf(vulnerability, { most: MOST_IN_RESULT })),
  each('Results.Misconfigurations', ALL),
  each('Results.Secrets', ALL),
  each('Results.Packages', membersOf(fieldsOf('Name', 'Version', 'Identifier', 'Locations'))),
]);

/** Of SARIF and of the four scanners' JSON what is read; whose it is turns out on the way. */
export const REPORT_SHAPE: Shape = {
  // Gitleaks writes nothing but a list.
  elements: ALL,
  handOver: 'leaks',
  whole: SMALL,
  ...membersOf([
    ['version', ALL],
    each('runs', sarifRun(), MOST_RUNS, 0),
    each('results', ALL),
    each('errors', membersOf(fieldsOf('code', 'level', 'path', 'type', 'message'))),
    ['paths', membersOf([['scanned', ALL]])],
    each('matches', shapeOf(match, { most: MOST_IN_RESULT })),
    ['descriptor', membersOf(fieldsOf('name', 'version', 'timestamp'))],
    ...fieldsOf('SchemaVersion', 'Trivy', 'CreatedAt', 'ArtifactName', 'ArtifactType'),
    each('Results', trivyTarget, MOST_RUNS * 100, 0),
  ]),
};

/** The same as our own runner hands it over: in an envelope that no import has (`runnerReport`). */
export const RUNNER_SHAPE: Shape = {
  ...REPORT_SHAPE,
  ...membersOf([
    ...(REPORT_SHAPE.members ?? []),
    ['report', REPORT_SHAPE],
    ...fieldsOf('format', 'unread', 'hidden'),
  ]),
};

/** Lists whose elements are results; the others are counted by what they take alone. */
export const RESULT_LISTS: ReadonlySet<string> = new Set([
  'leaks',
  'results',
  'matches',
  'runs.results',
  'Results.Vulnerabilities',
  'Results.Misconfigurations',
  'Results.Secrets',
]);
