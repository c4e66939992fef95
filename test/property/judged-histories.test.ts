import fc from 'fast-check';
import { describe, expect, inject, it, vi } from 'vitest';
import { findings as contract } from '#contract/operations/findings.ts';
import { imports } from '#contract/operations/imports.ts';
import { policies } from '#contract/operations/policies.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { FINDING_STATUSES, type FindingStatus, type Severity } from '#domain/vocabulary.ts';
import type { PolicyKind } from '#shared/policy/kinds.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { reevaluationKey } from '#store/keys.ts';
import { createRecounting } from '#store/recount.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { sampleAsset, testAttribution } from '#test/harness/samples.ts';
import { sarifLog } from '#test/harness/sarif.ts';
import { awaitScan } from '#test/harness/scanning.ts';

/** Imports, people and policies in any order, against the rules in words of the test's own. */
const PLACES = 6;
const SCORES = { critical: '9.5', medium: '5.0', low: '2.0' } as const;
type Level = keyof typeof SCORES;

/** The older first: it wins where two of them say something. */
const TRIAGE: readonly { readonly rules: string; readonly decides: Partial<Record<Level, FindingStatus>> }[] =
  [
    {
      rules: 'decision := "reject" if input.finding.severity == "low"',
      decides: { low: 'suppressed' },
    },
    {
      rules:
        'decision := "accept" if input.finding.severity == "critical"\n\ndecision := "reject" if input.finding.severity == "medium"',
      decides: { critical: 'triaged', medium: 'suppressed' },
    },
    { rules: 'decision := "accept"', decides: { critical: 'triaged', medium: 'triaged', low: 'triaged' } },
  ];

/** Places by turns in a project, in its sub-project, and in none; beside the policy that gives priorities. */
const PROJECT = TRIAGE.length + 1;
const ROUTES = `at := to_number(substring(input.finding.location.path, 1, -1))

project := "shop" if at % 3 == 0

project := "Shop/web" if at % 3 == 1`;

type Step =
  | { readonly kind: 'import'; readonly report: ReadonlyMap<number, Level> }
  | { readonly kind: 'patch'; readonly place: number; readonly status: FindingStatus }
  | { readonly kind: 'suppress' | 'reopen'; readonly place: number }
  | { readonly kind: 'toggle'; readonly policy: number }
  | { readonly kind: 'version'; readonly priority: number };

const place = fc.nat({ max: PLACES - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .array(fc.tuple(place, fc.constantFrom(...(Object.keys(SCORES) as Level[]))), { maxLength: PLACES })
      .map((entries) => ({ kind: 'import' as const, report: new Map(entries) })),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('patch' as const),
      place,
      status: fc.constantFrom(...FINDING_STATUSES),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('suppress' as const, 'reopen' as const), place }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('toggle' as const), policy: fc.nat({ max: PROJECT }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('version' as const), priority: fc.nat({ max: 9 }) }),
  },
);

interface Held {
  severity: Level;
  /** Without any policy. */
  status: FindingStatus;
  byPerson: boolean;
  reported: boolean;
}

class Model {
  readonly findings = new Map<number, Held>();
  readonly active = new Set<number>();
  priority = 0;

  /** Where the policy of projects puts a place: what is closed is in no project, as the asset is. */
  project(at: number, held: Held): string | null {
    const open = held.reported
      ? held.status !== 'resolved'
      : !['resolved', 'suppressed'].includes(held.status);
    if (!this.active.has(PROJECT) || !open) return null;
    if (at % 3 === 2) return null;
    return at % 3 === 0 ? 'Shop' : 'Shop/Web';
  }

  shownStatus({ severity, status, byPerson }: Held): FindingStatus {
    if (byPerson || status === 'resolved') return status;
    const judging = TRIAGE.filter((policy, nth) => this.active.has(nth) && policy.decides[severity]);
    return judging[0]?.decides[severity] ?? status;
  }

  follow(one: Step): void {
    if (one.kind === 'import') this.#report(one.report);
    else if (one.kind === 'version') this.priority = one.priority;
    else if (one.kind === 'toggle') {
      if (!this.active.delete(one.policy)) this.active.add(one.policy);
    } else this.#decide(one);
  }

  #report(report: ReadonlyMap<number, Level>): void {
    for (const [at, severity] of report) {
      const held = this.findings.get(at);
      if (!held) this.findings.set(at, { severity, status: 'open', byPerson: false, reported: true });
      else if (held.status === 'resolved')
        this.findings.set(at, { severity, status: 'reopened', byPerson: false, reported: true });
      else Object.assign(held, { severity, reported: true });
    }
    for (const [at, held] of this.findings) {
      if (report.has(at)) continue;
      held.reported = false;
      // What a person suppressed stays so.
      if (held.status !== 'resolved' && !(held.byPerson && held.status === 'suppressed'))
        Object.assign(held, { status: 'resolved', byPerson: false });
    }
  }

  #decide(one: Extract<Step, { place: number }>): void {
    const held = this.findings.get(one.place);
    if (!held) return;
    const shown = this.shownStatus(held);
    const byPolicy = !held.byPerson && held.status !== 'resolved' && this.#isJudged(held);
    if (one.kind === 'suppress') Object.assign(held, { status: 'suppressed', byPerson: true });
    if (one.kind === 'reopen' && shown === 'suppressed')
      Object.assign(held, { status: 'reopened', byPerson: true });
    // The same again is no decision, unless it was a policy's.
    if (one.kind === 'patch' && (one.status !== shown || byPolicy))
      Object.assign(held, { status: one.status, byPerson: true });
  }

  #isJudged({ severity }: Held): boolean {
    return TRIAGE.some((policy, nth) => this.active.has(nth) && policy.decides[severity]);
  }
}

/** An organization with all policies, none of them active, and an asset. */
async function open() {
  const org = await createTestOrganization();
  const asset = sampleAsset();
  const store = createAssetStore(testTable(), createCounterStore(testTable(), 1));
  await store.create(org.orgId, asset, testAttribution());
  const ids: string[] = [];
  for (const [nth, { rules }] of TRIAGE.entries())
    ids.push(await create(org, 'triage', rules, `triage ${nth}`));
  ids.push(await create(org, 'priority', 'priority := 0', 'priority'));
  ids.push(await create(org, 'project', ROUTES, 'project'));
  const shop = await org.client.call(projects.operations.createProject, { body: { name: 'Shop' } });
  const web = await org.client.call(projects.operations.createSubProject, {
    params: { project_id: shop.id },
    body: { name: 'Web' },
  });
  return {
    org,
    asset: toOpaque('asset', asset.id),
    ids,
    priority: ids[TRIAGE.length] ?? '',
    shop: shop.id,
    web: web.id,
  };
}
type Scene = Awaited<ReturnType<typeof open>>;

const regoOf = (kind: string, rules: string) => `package svc.${kind}\n\nimport rego.v1\n\n${rules}\n`;

async function create(org: TestOrganization, kind: PolicyKind, rules: string, name: string) {
  const body = { name, kind, rego: regoOf(kind, rules) };
  return (await org.client.call(policies.operations.createPolicy, { body })).id;
}

async function listAll({ org, asset }: Scene) {
  const query = { asset_id: asset, per_page: 100 };
  return (await org.client.call(contract.operations.listFindings, { query })).data;
}
const placeOf = (finding: { location: { path: string } }) => Number(finding.location.path.slice(1));

async function importReport({ org, asset }: Scene, report: ReadonlyMap<number, Level>): Promise<void> {
  const results = [...report].map(([at, severity]) => ({ path: `p${at}`, score: SCORES[severity] }));
  const { id } = await org.client.call(imports.operations.importFindings, {
    params: { asset_id: asset },
    query: { scanner: 'semgrep' },
    upload: JSON.stringify(sarifLog(results)),
    headers: { 'content-type': 'application/json' },
  });
  expect((await awaitScan(org, id)).status).toBe('completed');
}

async function carryOut(scene: Scene, one: Step, isActive: boolean): Promise<void> {
  const { org, ids, priority } = scene;
  const { client } = org;
  if (one.kind === 'import') return importReport(scene, one.report);
  if (one.kind === 'toggle') {
    const { activatePolicy, deactivatePolicy } = policies.operations;
    const params = { policy_id: ids[one.policy] ?? '' };
    await client.call(isActive ? deactivatePolicy : activatePolicy, { params });
    return;
  }
  if (one.kind === 'version') {
    const rego = regoOf('priority', `priority := ${one.priority}`);
    await client.call(policies.operations.updatePolicy, { params: { policy_id: priority }, body: { rego } });
    return;
  }
  const found = (await listAll(scene)).find((finding) => placeOf(finding) === one.place);
  if (!found) return;
  const params = { finding_id: found.id };
  if (one.kind === 'patch')
    await client.call(contract.operations.updateFinding, { params, body: { status: one.status } });
  if (one.kind === 'suppress') await client.call(contract.operations.suppressFinding, { params });
  if (one.kind === 'reopen')
    await client.call(contract.operations.reopenFinding, { params }).catch((error: { code?: string }) => {
      if (error.code !== 'conflict') throw error;
    });
}

/** Until every re-evaluation that was asked for has ended. */
async function settled({ org, asset }: Scene): Promise<void> {
  const keys = [null, fromOpaque('asset', asset)].map((id) => reevaluationKey(org.orgId, id));
  await vi.waitFor(async () => expect(await testTable().batchGet(keys)).toEqual([null, null]), {
    timeout: 60_000,
    interval: 50,
  });
}

async function expectAsModelled(scene: Scene, model: Model): Promise<void> {
  const shown = await listAll(scene);
  const statuses = (entries: (readonly [number, FindingStatus, Severity])[]) =>
    entries.toSorted(([a], [b]) => a - b);
  expect(statuses(shown.map((one) => [placeOf(one), one.status, one.severity]))).toEqual(
    statuses([...model.findings].map(([at, held]) => [at, model.shownStatus(held), held.severity])),
  );
  const wanted = model.active.has(TRIAGE.length) ? model.priority : null;
  for (const { status, priority, policy_results, ...finding } of shown) {
    // What is closed, by its scanner or by a person, and not reported any more, is nobody's to judge.
    const reported = model.findings.get(placeOf(finding))?.reported;
    if (status === 'resolved' || (status === 'suppressed' && !reported)) continue;
    expect(priority).toBe(wanted);
    expect(policy_results).toHaveLength(model.active.size);
  }
  await expectProjects(scene, model, shown);
  const table = testTable();
  const counters = createCounterStore(table, inject('service').lanes);
  const recounting = createRecounting(table, createAssetStore(table, counters), counters);
  expect((await recounting.recount(scene.org.orgId)).differences).toEqual([]);
}

/** Each finding says where it is, the lists of projects agree, and so do their counts. */
async function expectProjects(
  { org, shop, web }: Scene,
  model: Model,
  shown: Awaited<ReturnType<typeof listAll>>,
): Promise<void> {
  const wanted = new Map([...model.findings].map(([at, held]) => [at, model.project(at, held)]));
  const placed = (one: (typeof shown)[number]) =>
    one.project_id && `${one.project_id}${one.sub_project_id ? `/${one.sub_project_id}` : ''}`;
  const ids = { Shop: shop, 'Shop/Web': `${shop}/${web}` } as Record<string, string>;
  expect(new Map(shown.map((one) => [placeOf(one), placed(one)]))).toEqual(
    new Map([...wanted].map(([at, name]) => [at, name && ids[name]])),
  );
  const inside = (...names: string[]) =>
    [...wanted].filter(([, name]) => name !== null && names.includes(name)).map(([at]) => at);
  for (const [query, places] of [
    [{ project_id: shop }, inside('Shop', 'Shop/Web')],
    [{ sub_project_id: web }, inside('Shop/Web')],
  ] as const) {
    const { data, pagination } = await org.client.call(contract.operations.listFindings, {
      query: { ...query, per_page: 100 },
    });
    expect(data.map(placeOf).sort()).toEqual(places.toSorted());
    expect(pagination.total).toBe(places.length);
    const summary = await org.client.call(contract.operations.getFindingSummary, { query });
    expect(summary.total).toBe(places.length);
  }
}

describe('histories with policies', () => {
  it('leave every finding as the active policies and people say', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 16 }), async (history) => {
        const scene = await open();
        const model = new Model();
        for (const one of history) {
          await carryOut(scene, one, one.kind === 'toggle' && model.active.has(one.policy));
          // What a person sees decides what is a change: the policies have to have spoken.
          await settled(scene);
          model.follow(one);
        }
        await expectAsModelled(scene, model);
      }),
      { numRuns: 12 },
    );
  });

  it('also where policies change while reports come in', async () => {
    const toggles = fc.array(fc.nat({ max: PROJECT }), { minLength: 2, maxLength: 6 });
    const reports = fc.array(
      step.filter((one) => one.kind === 'import'),
      { minLength: 1, maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(toggles, reports, async (policiesToggled, imported) => {
        const scene = await open();
        const model = new Model();
        const change = async () => {
          for (const policy of policiesToggled) {
            await carryOut(scene, { kind: 'toggle', policy }, model.active.has(policy));
            model.follow({ kind: 'toggle', policy });
          }
        };
        const report = async () => {
          for (const one of imported) await carryOut(scene, one, false);
        };
        await Promise.all([change(), report()]);
        for (const one of imported) model.follow(one);
        await settled(scene);
        await expectAsModelled(scene, model);
      }),
      { numRuns: 8 },
    );
  });
});
