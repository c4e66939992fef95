import { readFileSync } from 'node:fs';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { App } from 'aws-cdk-lib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ASSUMPTION_NAMES,
  ASSUMPTIONS,
  DEFAULT_LOAD,
  optionOf,
  readCommand,
} from '#infra/cost/assumptions.ts';
import { PRICE_NAMES, readCounts, readPrices } from '#infra/cost/files.ts';
import { factorOf, limitsOf } from '#infra/cost/limits.ts';
import { monthOf, standingOf, TRANSITIONS_OF_A_RUN, totalOf } from '#infra/cost/month.ts';
import { COST_DOCUMENT, costReport, withReport } from '#infra/cost/report.ts';
import { BILLED } from '#infra/cost/resource-types.ts';
import { coverage, Source } from '#infra/cost/source.ts';
import type { Usage } from '#infra/cost/usage.ts';
import { readDeployment } from '#infra/deployment.ts';
import { type DynamoDb, startDynamoDb } from '#infra/local/dynamodb.ts';
import { STACK_NAME } from '#infra/project.ts';
import { synthesizeTemplate } from '#infra/released/template-file.ts';
import { Template } from '#infra/released/upgrade-gate.ts';
import { AspmStack } from '#infra/stack.ts';
import { createTable } from '#store/table.ts';
import { type Metered, measureWithoutScanners, startMetered } from './scenarios.ts';

const counts = readCounts();
const template = synthesizeTemplate();
const standing = standingOf(template);
const month = (change: Partial<typeof DEFAULT_LOAD>) =>
  monthOf({ ...DEFAULT_LOAD, ...change }, counts, standing, readPrices());

describe('what was counted of the code', () => {
  let store: DynamoDb;
  let service: Metered;
  let now: Awaited<ReturnType<typeof measureWithoutScanners>>;
  beforeAll(async () => {
    store = await startDynamoDb(null);
    service = await startMetered(store.endpoint);
    now = await measureWithoutScanners(service);
  });
  afterAll(async () => {
    await service?.stop();
    await store?.stop();
  });

  const unitsOf = ({ storeRequests, readUnits, writeUnits, messages, executions }: Usage) => ({
    ...{ storeRequests, readUnits, writeUnits, messages, executions },
  });
  const callsOf = ({ invocations }: Usage) =>
    Object.fromEntries(Object.entries(invocations).map(([name, { count }]) => [name, count]));

  it.each(['reads', 'triage', 'idleMinute'] as const)('is what it does today: %s', (name) => {
    const [then, today] = [counts[name], now[name]].map((one) => ('usage' in one ? one.usage : one)) as [
      Usage,
      Usage,
    ];
    // `npm run measure` counts anew.
    expect(unitsOf(today)).toEqual(unitsOf(then));
    expect(callsOf(today)).toEqual(callsOf(then));
  });

  it.each(['importNew', 'importSame', 'importFewer'] as const)('is what it does today: %s', (name) => {
    const [then, today] = [counts[name].usage, now[name].usage];
    // How often the end of an import is asked for depends on the moment: a few requests of each.
    for (const unit of ['storeRequests', 'readUnits', 'writeUnits'] as const)
      expect(Math.abs(today[unit] - then[unit]), unit).toBeLessThanOrEqual(0.02 * then[unit] + 20);
    expect(today.messages).toBe(then.messages);
  });

  it('is in units as DynamoDB’s rule has them: two a KB in a transaction, one for each index', async () => {
    const table = createTable(
      process.env.TABLE_NAME ?? '',
      new DynamoDBClient({ endpoint: service.meter.url }),
    );
    const item = (sk: string) => ({
      ...{ pk: 'RULE', sk, gsi1pk: 'RULE', gsi1sk: sk },
      text: 'x'.repeat(2300),
    });
    service.meter.take();
    await table.transact(['1', '2', '3'].map((sk) => ({ Put: { Item: item(sk) } })));
    expect(service.meter.take()).toMatchObject({ storeRequests: 1, writeUnits: 3 * (2 * 3 + 1) });
    await table.putAll(['4', '5'].map(item));
    expect(service.meter.take()).toMatchObject({ storeRequests: 1, writeUnits: 2 * (3 + 1) });
    await table.get({ pk: 'RULE', sk: '1' });
    expect(service.meter.take()).toMatchObject({ storeRequests: 1, readUnits: 1 });
  });
});

describe('the cost of a month', () => {
  const report = costReport(DEFAULT_LOAD);

  it('has the template’s own numbers', () => {
    expect(standing).toMatchObject({
      runners: 3,
      keys: 1,
      secrets: 4,
      task: { vcpus: 2, gigabytes: 4, disk: 30 },
    });
    // Alarms with an expression are billed by the metrics in it: there are more of these than alarms.
    expect(standing.alarmMetrics).toBeGreaterThan(
      2 * Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::CloudWatch::Alarm').length,
    );
    expect(standing).toMatchObject({ metrics: 9, containerInsights: true, reportDays: 90, logDays: 90 });
    expect(standing.polledQueues).toBeGreaterThan(4);
    const [machine] = Object.values(template.Resources).filter(
      ({ Type }) => Type === 'AWS::StepFunctions::StateMachine',
    );
    const definition = machine?.Properties.DefinitionString as { 'Fn::Join': [string, unknown[]] };
    const text = definition['Fn::Join'][1].map((part) => (typeof part === 'string' ? part : 'x')).join('');
    expect(Object.keys((JSON.parse(text) as { States: object }).States)).toHaveLength(TRANSITIONS_OF_A_RUN);
  });

  it('knows of each kind of resource what it is billed by, or that it is free', () => {
    // With all that can be asked for: some resources are there by an option alone.
    const app = new App({ context: { bundle: false, alarmEmail: 'a@example.com', monthlyBudget: '200' } });
    new AspmStack(app, STACK_NAME, { deployment: readDeployment(app.node) });
    const { Resources } = Template.parse(app.synth().getStackByName(STACK_NAME).template);
    const types = [...new Set(Object.values(Resources).map(({ Type }) => Type))];
    expect(types.sort()).toEqual(Object.keys(BILLED).sort());
    // The other way round: what is billed belongs to a resource, and is in the bill.
    const billed = [...new Set(Object.values(BILLED).flatMap((prices) => (prices === 'free' ? [] : prices)))];
    expect(billed.sort()).toEqual([...PRICE_NAMES].sort());
    expect([...new Set(month({}).map(({ price }) => price))].sort()).toEqual(billed);
  });

  it('counts each metric of an alarm, as CloudWatch does', () => {
    const metric = (name: string) => ({ MetricStat: { Metric: { Namespace: 'Aspm', MetricName: name } } });
    const alarm = (Properties: Record<string, unknown>) => ({ Type: 'AWS::CloudWatch::Alarm', Properties });
    const { alarmMetrics, metrics } = standingOf({
      Resources: {
        one: alarm({ Namespace: 'AWS/Lambda', MetricName: 'Throttles' }),
        two: alarm({ Metrics: [{ Expression: 'a + b' }, metric('a'), metric('b')] }),
        again: alarm({ Namespace: 'Aspm', MetricName: 'b' }),
      },
    });
    expect({ alarmMetrics, metrics }).toEqual({ alarmMetrics: 4, metrics: 2 });
  });

  it('has a source for each price and quota, or says that there is none', () => {
    const { prices } = readPrices();
    for (const name of PRICE_NAMES) expect(Source.safeParse(prices[name]?.source).success, name).toBe(true);
    const limits = limitsOf(DEFAULT_LOAD, counts, standing);
    for (const { name, source } of limits)
      expect(source === 'ours' || Source.safeParse(source).success, name).toBe(true);
    const all = limits.flatMap(({ name, source }) => (source === 'ours' ? [] : [{ name, source }]));
    const named = [
      ...Object.values(prices).map(({ service, source }) => ({ name: service, source })),
      ...all,
    ];
    expect(report).toContain(coverage(named));
    expect(coverage([...all, { name: 'Fog', source: 'unverified' }])).toContain('1 are unverified (Fog)');
    expect(Source.safeParse({ page: '', date: 'undated' }).success).toBe(false);
    expect(Source.safeParse({ page: 'A price page', date: 'lately' }).success).toBe(false);
  });

  it.each(ASSUMPTION_NAMES)(
    'takes an assumption from the command line, and it changes something: %s',
    (name) => {
      const twice = 2 * ASSUMPTIONS[name].value;
      const { load } = readCommand([`--${optionOf(name)}`, String(twice)]);
      expect(load).toEqual({ ...DEFAULT_LOAD, [name]: twice });
      const computed = (of: typeof load) => [
        totalOf(monthOf(of, counts, standing, readPrices())),
        ...limitsOf(of, counts, standing).map(({ used }) => used),
      ];
      expect(computed(load)).not.toEqual(computed(DEFAULT_LOAD));
      expect(report).toContain(`\`--${optionOf(name)}\``);
    },
  );

  it('refuses what is no number', () => {
    for (const text of ['many', '', 'NaN', 'Infinity'])
      expect(() => readCommand(['--scan-minutes', text])).toThrow('--scan-minutes must be a number');
    expect(() => readCommand(['--scan-minutes=-1'])).toThrow('--scan-minutes must be a number');
    expect(() => readCommand(['--minutes', '1'])).toThrow('--minutes');
  });

  it('is idle where nothing is used', () => {
    const idle = month({ repositories: 0, findings: 0, calls: 0 });
    expect(idle.map(({ part }) => part)).not.toContain('calls');
    expect(idle.filter(({ part }) => part !== 'idle')).toEqual([]);
    expect(totalOf(idle)).toBeGreaterThan(0);
  });

  it('grows with each part of the load, and by that part alone', () => {
    const once = month({});
    const twice = month({ calls: 2 * DEFAULT_LOAD.calls });
    const of = (lines: typeof once, part: string) => totalOf(lines.filter((line) => line.part === part));
    expect(of(twice, 'calls')).toBeCloseTo(2 * of(once, 'calls'), 6);
    for (const part of ['idle', 'scans', 'findings']) expect(of(twice, part)).toBe(of(once, part));
    expect(of(month({ scanMinutes: 6 }), 'scans')).toBeGreaterThan(of(once, 'scans'));
    expect(of(month({ churn: 0.02 }), 'scans')).toBeGreaterThan(of(once, 'scans'));
  });

  it('reaches a limit sooner with a greater load', () => {
    const at = (factor: number) =>
      limitsOf(
        {
          ...DEFAULT_LOAD,
          repositories: factor * DEFAULT_LOAD.repositories,
          findings: factor * DEFAULT_LOAD.findings,
          calls: factor * DEFAULT_LOAD.calls,
        },
        counts,
        standing,
      ).map(factorOf);
    const [one, ten] = [at(1), at(10)];
    expect(ten.map((factor) => 10 * factor).map(Math.round)).toEqual(one.map(Math.round));
  });

  it('is in docs/cost.md as it is computed: npm run cost -- --write', () => {
    const document = readFileSync(COST_DOCUMENT, 'utf8');
    expect(document).toBe(withReport(document, report));
  });
});
