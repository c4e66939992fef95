import type { Clock } from '#domain/clock.ts';
import type { ReevaluationRequested } from '#events/reevaluations.ts';
import { logError } from '#shared/log.ts';
import { changesByDay } from '#shared/policy/changes-by-day.ts';
import type { Queue } from '#shared/queue.ts';
import { requestReevaluation } from '#shared/request-reevaluation.ts';
import type { JudgedOrganization, JudgedOrganizationStore } from '#store/judged-organizations.ts';
import type { PolicyStore } from '#store/policies.ts';
import type { PolicyCodeStore } from '#store/policy-code.ts';
import type { ReevaluationStore } from '#store/reevaluations.ts';
import { judges } from './active-policies.ts';

const DAY = 24 * 3600 * 1000;

export interface DailyJudgingDependencies {
  readonly judged: JudgedOrganizationStore;
  readonly policies: Pick<PolicyStore, 'listActive'>;
  readonly policyCode: Pick<PolicyCodeStore, 'readSources'>;
  readonly reevaluations: Pick<ReevaluationStore, 'request'>;
  readonly reevaluationRequests: Queue<ReevaluationRequested>;
  readonly clock: Clock;
}

/**
 * Once a day, after the feeds: lets findings be judged anew where an active policy looks at scores or at time.
 * One organization's failure is no reason to leave the others.
 * @returns how many organizations that is
 */
export async function judgeByDay(dependencies: DailyJudgingDependencies): Promise<number> {
  let requested = 0;
  for (const organization of await dependencies.judged.list()) {
    try {
      if (await requestWhereNeeded(organization, dependencies)) requested += 1;
    } catch (error) {
      logError('daily re-evaluation not requested', error, { org_id: organization.orgId });
    }
  }
  return requested;
}

async function requestWhereNeeded(
  organization: JudgedOrganization,
  { judged, policies, policyCode, reevaluations, reevaluationRequests, clock }: DailyJudgingDependencies,
): Promise<boolean> {
  const { orgId } = organization;
  const active = (await policies.listActive(orgId)).filter(judges);
  if (active.length === 0) {
    // What was deactivated just now may still be undone in its findings.
    if (clock.now() - Date.parse(organization.since) > DAY) await judged.forget(organization);
    return false;
  }
  const sources = await policyCode.readSources(
    orgId,
    active.map(({ code }) => code),
  );
  if (![...sources.values()].some(changesByDay)) return false;
  await reevaluations.request({ orgId, assetId: null }, clock.now());
  await requestReevaluation(reevaluationRequests, { org_id: orgId, asset_id: null });
  return true;
}
