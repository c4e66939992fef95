/**
 * CloudWatch's rules for alarms, as documented ("Alarm evaluation", "Using metric math"), without CloudWatch: what
 * was measured goes in, the state of an alarm of the template comes out.
 */
export interface Datapoint {
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly value: number;
}

export type AlarmState = 'OK' | 'ALARM' | 'INSUFFICIENT_DATA';

interface MetricReference {
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: unknown }[];
}

/** Properties of `AWS::CloudWatch::Alarm`, as far as the service uses them. */
export interface AlarmProperties extends Partial<MetricReference> {
  readonly AlarmDescription: string;
  readonly AlarmActions?: readonly unknown[];
  readonly ComparisonOperator: string;
  readonly Threshold: number;
  readonly EvaluationPeriods: number;
  readonly DatapointsToAlarm?: number;
  readonly TreatMissingData?: string;
  readonly Period?: number;
  readonly Statistic?: string;
  readonly Metrics?: readonly {
    readonly Id: string;
    readonly Expression?: string;
    readonly ReturnData?: boolean;
    readonly MetricStat?: {
      readonly Metric: MetricReference;
      readonly Period: number;
      readonly Stat: string;
    };
  }[];
}

/** Values by period: 0 is the one that ends now. A period in which nothing was measured is not there. */
type Series = ReadonlyMap<number, number>;

/** CloudWatch looks back further than it has to, so that late values count: two periods, in its own example. */
const LOOKS_BACK = 2;

const STATISTICS: Readonly<Record<string, (values: readonly number[]) => number>> = {
  Sum: (values) => values.reduce((sum, value) => sum + value, 0),
  Maximum: (values) => Math.max(...values),
  Minimum: (values) => Math.min(...values),
  Average: (values) => values.reduce((sum, value) => sum + value, 0) / values.length,
  SampleCount: (values) => values.length,
};

const COMPARISONS: Readonly<Record<string, (value: number, threshold: number) => boolean>> = {
  GreaterThanOrEqualToThreshold: (value, threshold) => value >= threshold,
  GreaterThanThreshold: (value, threshold) => value > threshold,
  LessThanThreshold: (value, threshold) => value < threshold,
  LessThanOrEqualToThreshold: (value, threshold) => value <= threshold,
};

/**
 * The state of an alarm at a time.
 * @param nameOf what a dimension's value stands for: `Ref`s of the template by the names that were measured under
 * @param before its state until then, where missing values leave it as it is
 */
export function stateOf(
  alarm: AlarmProperties,
  datapoints: readonly Datapoint[],
  now: number,
  nameOf: (value: unknown) => string = String,
  before: AlarmState = 'INSUFFICIENT_DATA',
): AlarmState {
  const periods = alarm.EvaluationPeriods + LOOKS_BACK;
  const read = (metric: MetricReference, period: number, statistic: string) =>
    seriesOf(metric, period, statistic, periods, datapoints, now, nameOf);
  const { series, isDynamoDb } = seriesOfAlarm(alarm, read);
  const breaches = known(COMPARISONS, alarm.ComparisonOperator);
  // The newest values that there are; only what is then still lacking is made up.
  const real = Array.from({ length: periods }, (_, index) => series.get(index))
    .filter((value) => value !== undefined)
    .slice(0, alarm.EvaluationPeriods)
    .map((value) => breaches(value, alarm.Threshold));
  const lacking = alarm.EvaluationPeriods - real.length;
  const toAlarm = alarm.DatapointsToAlarm ?? alarm.EvaluationPeriods;
  const breaching = real.filter(Boolean).length;
  // "Alarms that evaluate metrics in the AWS/DynamoDB namespace always ignore missing data."
  const silence = isDynamoDb ? 'ignore' : (alarm.TreatMissingData ?? 'missing');
  switch (silence) {
    case 'breaching':
      return breaching + lacking >= toAlarm ? 'ALARM' : 'OK';
    case 'notBreaching':
      return breaching >= toAlarm ? 'ALARM' : 'OK';
    case 'ignore':
      if (lacking > 0 && breaching < toAlarm) return before;
      return breaching >= toAlarm ? 'ALARM' : 'OK';
    case 'missing':
      if (real.length === 0) return 'INSUFFICIENT_DATA';
      return breaching >= Math.min(toAlarm, real.length) ? 'ALARM' : 'OK';
    default:
      throw new Error(`There is no treatment of missing data called ${silence}`);
  }
}

type Read = (metric: MetricReference, period: number, statistic: string) => Series;

function seriesOfAlarm(alarm: AlarmProperties, read: Read): { series: Series; isDynamoDb: boolean } {
  if (!alarm.Metrics) {
    const { Namespace = '', MetricName = '', Dimensions = [], Period = 0, Statistic = '' } = alarm;
    return {
      series: read({ Namespace, MetricName, Dimensions }, Period, Statistic),
      isDynamoDb: Namespace === 'AWS/DynamoDB',
    };
  }
  const named = new Map<string, Series>();
  for (const { Id, MetricStat } of alarm.Metrics)
    if (MetricStat) named.set(Id, read(MetricStat.Metric, MetricStat.Period, MetricStat.Stat));
  if (named.size > 10) throw new Error('An alarm can name ten metrics at most');
  if (new Set(alarm.Metrics.flatMap(({ MetricStat }) => MetricStat?.Period ?? [])).size > 1)
    throw new Error('All metrics of an alarm must be of one period');
  // What is not shown are parts of what is.
  for (const { Id, Expression, ReturnData = true } of alarm.Metrics) {
    if (Expression === undefined || ReturnData) continue;
    const part = evaluate(Expression, named);
    if (!(part instanceof Map)) throw new Error(`${Expression} is no series of values`);
    named.set(Id, part);
  }
  const returned = alarm.Metrics.filter(({ ReturnData = true }) => ReturnData);
  const [shown] = returned;
  if (returned.length !== 1 || !shown) throw new Error('An alarm looks at one value');
  const value = shown.Expression === undefined ? named.get(shown.Id) : evaluate(shown.Expression, named);
  if (!(value instanceof Map)) throw new Error(`${shown.Expression} is no series of values`);
  return { series: value, isDynamoDb: false };
}

function seriesOf(
  metric: MetricReference,
  period: number,
  statistic: string,
  periods: number,
  datapoints: readonly Datapoint[],
  now: number,
  nameOf: (value: unknown) => string,
): Series {
  const dimensions = Object.fromEntries(
    (metric.Dimensions ?? []).map(({ Name, Value }) => [Name, nameOf(Value)]),
  );
  const byPeriod = new Map<number, number[]>();
  for (const { namespace, name, dimensions: measured, at, value } of datapoints) {
    if (namespace !== metric.Namespace || name !== metric.MetricName) continue;
    if (!isSame(dimensions, measured)) continue;
    const index = Math.floor((now - at) / (period * 1000));
    if (index < 0 || index >= periods) continue;
    byPeriod.set(index, [...(byPeriod.get(index) ?? []), value]);
  }
  const reduce = known(STATISTICS, statistic);
  return new Map(Array.from(byPeriod, ([index, values]) => [index, reduce(values)]));
}

/** A metric is its name with exactly these dimensions: with one more or less it is another one. */
function isSame(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

type Value = number | Series | readonly Value[];

/** Metric math, as far as our alarms use it: `+ - * /`, `SUM([…])`, `MAX([…])`. */
function evaluate(expression: string, named: ReadonlyMap<string, Series>): Value {
  const tokens = expression.match(/[A-Za-z_]\w*|\d+(?:\.\d+)?|[-+*/()[\],]/g) ?? [];
  let at = 0;
  const take = (expected?: string): string => {
    const token = tokens[at];
    if (token === undefined || (expected !== undefined && token !== expected))
      throw new Error(`${expression}: ${expected ?? 'something'} is missing`);
    at += 1;
    return token;
  };
  const list = (end: string): Value[] => {
    const items: Value[] = [];
    while (tokens[at] !== end) {
      items.push(sum());
      if (tokens[at] !== end) take(',');
    }
    take(end);
    return items;
  };
  const atom = (): Value => {
    const token = take();
    if (token === '[') return list(']');
    if (token === '(') {
      const inner = sum();
      take(')');
      return inner;
    }
    if (/^\d/.test(token)) return Number(token);
    if (tokens[at] === '(') {
      take('(');
      return reduceSeries(token, list(')'));
    }
    const series = named.get(token);
    if (!series) throw new Error(`${expression}: there is no ${token}`);
    return series;
  };
  const product = (): Value => {
    let left = atom();
    while (tokens[at] === '*' || tokens[at] === '/') {
      const times = take() === '*';
      left = combine(left, atom(), (a, b) => (times ? a * b : a / b));
    }
    return left;
  };
  const sum = (): Value => {
    let left = product();
    while (tokens[at] === '+' || tokens[at] === '-') {
      const plus = take() === '+';
      left = combine(left, product(), (a, b) => (plus ? a + b : a - b));
    }
    return left;
  };
  const value = sum();
  if (at < tokens.length) throw new Error(`${expression}: ${tokens[at]} is too much`);
  return value;
}

/** Two series have a value together only where both have one. */
function combine(left: Value, right: Value, apply: (a: number, b: number) => number): Value {
  if (typeof left === 'number' && typeof right === 'number') return apply(left, right);
  const of = (value: Value, index: number) =>
    typeof value === 'number' ? value : (value as Series).get(index);
  const indexes = [left, right].flatMap((value) => (value instanceof Map ? [...value.keys()] : []));
  const made = new Map<number, number>();
  for (const index of new Set(indexes)) {
    const [a, b] = [of(left, index), of(right, index)];
    if (a === undefined || b === undefined) continue;
    const value = apply(a, b);
    // A division by zero has no value.
    if (Number.isFinite(value)) made.set(index, value);
  }
  return made;
}

/** Over an array of series, by period: of those that have a value there. */
function reduceSeries(name: string, [array]: readonly Value[]): Series {
  const reduce = known({ SUM: STATISTICS.Sum, MAX: STATISTICS.Maximum }, name);
  if (!Array.isArray(array) || !reduce) throw new Error(`${name} takes an array`);
  const series = array.filter((value): value is Map<number, number> => value instanceof Map);
  const indexes = new Set(series.flatMap((one) => [...one.keys()]));
  return new Map(
    Array.from(indexes, (index) => [index, reduce(series.flatMap((one) => one.get(index) ?? []))]),
  );
}

function known<T>(all: Readonly<Record<string, T>>, name: string): T {
  const found = all[name];
  if (found === undefined) throw new Error(`There is no ${name}`);
  return found;
}

interface EmfLine {
  readonly _aws: {
    readonly Timestamp: number;
    readonly CloudWatchMetrics: readonly {
      readonly Namespace: string;
      readonly Dimensions: readonly (readonly string[])[];
      readonly Metrics: readonly { readonly Name: string }[];
    }[];
  };
  readonly [member: string]: unknown;
}

/** What CloudWatch takes from a line of a log in embedded metric format; nothing from any other. */
export function readEmf(line: string): Datapoint[] {
  if (!line.startsWith('{"_aws"')) return [];
  const emf = JSON.parse(line) as EmfLine;
  return emf._aws.CloudWatchMetrics.flatMap(({ Namespace, Dimensions, Metrics }) =>
    Dimensions.flatMap((names) =>
      Metrics.flatMap(({ Name }) =>
        [emf[Name]].flat().map((value) => ({
          namespace: Namespace,
          name: Name,
          dimensions: Object.fromEntries(names.map((name) => [name, String(emf[name])])),
          at: emf._aws.Timestamp,
          value: Number(value),
        })),
      ),
    ),
  );
}
