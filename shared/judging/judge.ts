import type { Clock } from '#domain/clock.ts';
import type { Ids } from '#domain/ids.ts';
import { type Verdict, withJudgement, withoutJudgement } from '#domain/judgement.ts';
import type { Bulk } from '#shared/policy/bulk.ts';
import { evaluateMany, type PolicyResult } from '#shared/policy/evaluate.ts';
import type { Reactor } from '#shared/policy/reactor.ts';
import { presentFindings } from '#shared/presenters/finding.ts';
import { policyInput } from '#shared/presenters/policy-input.ts';
import { Turn } from '#shared/threads/turns.ts';
import type { AssetRecord } from '#store/assets.ts';
import type { FindingRecord } from '#store/finding-record.ts';
import type { FindingStore } from '#store/findings.ts';
import type { OrganizationRecord, OrganizationStore } from '#store/organizations.ts';
import type { PolicyRunStore } from '#store/policy-runs.ts';
import type { ProjectRecord, ProjectStore } from '#store/projects.ts';
import type { ScanRecord } from '#store/scans.ts';
import { type ActivePolicy, policiesOf } from './active-policies.ts';
import type { AskedPolicies } from './asked-policies.ts';
import { findNamedProjects, type NamedProjects } from './named-projects.ts';
import { type Opinion, opinionOf, placed } from './verdict.ts';

export interface JudgeDependencies {
  readonly findings: Pick<FindingStore, 'readContext'>;
  readonly projects: Pick<ProjectStore, 'getMany' | 'find'>;
  readonly organizations: Pick<OrganizationStore, 'getOrganization'>;
  readonly policyRuns: Pick<PolicyRunStore, 'record'>;
  readonly bulk: Bulk;
  /** Loads OPA with its first call: what no policy needs is not loaded. */
  readonly reactor: Reactor;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** What is judged: findings of one asset. */
interface Subject {
  readonly orgId: string;
  readonly asset: AssetRecord;
  /** The scan that saw them last, where it is known. */
  readonly scan: Omit<ScanRecord, 'counts'> | null;
}

/** Judges findings: each as the policies leave it, in order; the same object where nothing changes. */
export type Judge = (records: readonly FindingRecord[]) => Promise<FindingRecord[]>;

/** Milliseconds for a policy and a batch, and for each finding of it: a usual policy takes a fiftieth of one. */
const DEADLINE_MS = 1000;
const DEADLINE_MS_EACH = 10;

/**
 * Judges findings of an asset by the active policies whose scope it is in. A policy that fails decides
 * nothing, and its run says why; one that passes its deadline is not asked again.
 * @param asked takes down what the policies said
 */
export function createJudge(
  active: readonly ActivePolicy[],
  subject: Subject,
  asked: AskedPolicies,
  dependencies: JudgeDependencies,
): Judge {
  const policies = policiesOf(active, subject.asset);
  const namedProjects = findNamedProjects(subject.orgId, dependencies.projects);
  let surroundings: Promise<Surroundings> | null = null;

  /** What each policy says of each finding, the narrowest scope first. */
  async function hear(records: readonly FindingRecord[]): Promise<Verdict[][]> {
    const verdicts: Verdict[][] = records.map(() => []);
    if (policies.length === 0) return verdicts;
    surroundings ??= readSurroundings(subject, dependencies);
    const inputs = await inputsOf(records, subject, await surroundings, dependencies);
    for (const policy of policies) {
      const opinions = await ask(policy, inputs, asked, { ...subject, namedProjects }, dependencies);
      const { id: policy_id, kind, version, name } = policy.record;
      for (const [place, { problem, ...said }] of opinions.entries())
        if (!problem) verdicts[place]?.push({ policy_id, kind, version, name, ...said });
    }
    return verdicts;
  }

  return async (records) => {
    if (records.length === 0) return [];
    const verdicts = await hear(records);
    const now = dependencies.clock.now();
    return records.map((record, place) => withJudgement(record, verdicts[place] ?? [], now));
  };
}

async function ask(
  { record, code }: ActivePolicy,
  inputs: readonly unknown[],
  asked: AskedPolicies,
  { orgId, asset, namedProjects }: Subject & { readonly namedProjects: NamedProjects },
  { bulk, reactor }: JudgeDependencies,
): Promise<Opinion[]> {
  const deadlineMs = DEADLINE_MS + DEADLINE_MS_EACH * inputs.length;
  const turn = new Turn(orgId);
  const evaluators = { bulk: bulk.onBehalfOf(turn), reactor: () => reactor.onBehalfOf(turn) };
  const began = performance.now();
  const results = asked.isGivenUp(record)
    ? inputs.map(() => TOO_SLOW)
    : await evaluateMany(evaluators, code, inputs, { deadlineMs });
  const elapsed = performance.now() - began - turn.waitedMs;
  if (elapsed >= deadlineMs) asked.giveUp(record);
  const read = results.map((result) => opinionOf(record.kind, result));
  const opinions =
    record.kind === 'project'
      ? await Promise.all(read.map((opinion) => placed(opinion, asset, namedProjects)))
      : read;
  asked.add(record, opinions, elapsed);
  return opinions;
}

const TOO_SLOW: PolicyResult = {
  error: {
    code: 'policy_evaluation_error',
    message: 'Not evaluated: the policy took too long for findings before this one',
  },
};

/** What a policy is told of, besides asset and scan. */
interface Surroundings {
  readonly project: ProjectRecord | null;
  readonly organization: OrganizationRecord | null;
}

async function readSurroundings(
  { orgId, asset }: Subject,
  { projects, organizations }: JudgeDependencies,
): Promise<Surroundings> {
  const [found, organization] = await Promise.all([
    asset.project_id === null ? [] : projects.getMany(orgId, [asset.project_id]),
    organizations.getOrganization(orgId),
  ]);
  return { project: found[0] ?? null, organization };
}

/** As an evaluation by hand would see them: stored or not yet, and without what policies made of them. */
async function inputsOf(
  records: readonly FindingRecord[],
  { orgId, asset, scan }: Subject,
  surroundings: Surroundings,
  { findings, clock }: JudgeDependencies,
): Promise<unknown[]> {
  const page = await findings.readContext(orgId, records.map(withoutJudgement));
  const heads = scan && new Map(records.map(({ scanner }) => [`${asset.id}#${scanner}`, scan.id]));
  const context = heads ? { ...page.context, heads } : page.context;
  const shown = presentFindings({ records: page.records, context }, clock.now());
  const byId = new Map(page.records.map(({ id }, place) => [id, shown[place]]));
  return records.map(({ id }) => {
    const finding = byId.get(id);
    return finding ? policyInput(finding, { asset, scan, ...surroundings }) : null;
  });
}
