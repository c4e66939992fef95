import { ServiceError, UnknownReference } from '#domain/errors.ts';
import { fromOpaque } from '#domain/ids.ts';
import { withoutJudgement } from '#domain/judgement.ts';
import { allows } from '#domain/permissions.ts';
import { presentFindings } from '#shared/presenters/finding.ts';
import { policyInput } from '#shared/presenters/policy-input.ts';
import type { PolicyDependencies } from './dependencies.ts';

/**
 * A policy shows whatever it is told: who has it asked about findings must be allowed to read them.
 * @throws ServiceError insufficient_permissions
 */
export function checkMayRead(
  { scopes }: { readonly scopes: readonly string[] },
  { finding_ids }: { readonly finding_ids?: readonly string[] | undefined },
): void {
  if (finding_ids !== undefined && !allows(scopes, 'findings:read'))
    throw new ServiceError('insufficient_permissions', 'Missing the scope findings:read');
}

/**
 * Inputs of real findings, in the order of their ids.
 * @throws UnknownReference where the organization lacks one of them
 */
export async function inputsOf(
  orgId: string,
  findingIds: readonly string[],
  { findings, assets, projects, organizations, scans, clock }: PolicyDependencies,
) {
  const held = await findings.getMany(orgId, findingIds);
  const page = await findings.readContext(orgId, held.map(withoutJudgement));
  const shown = presentFindings(page, clock.now());
  const byId = new Map(page.records.map(({ id }, index) => [id, shown[index]]));
  const chosen = findingIds.map((id) => {
    const finding = byId.get(id);
    if (!finding) throw new UnknownReference('finding_ids', 'finding');
    return finding;
  });
  const idsOf = (kind: 'asset' | 'project' | 'scan', opaque: readonly (string | null)[]) => [
    ...new Set(opaque.flatMap((id) => (id === null ? [] : [fromOpaque(kind, id) ?? '']))),
  ];
  const [assetsById, projectsById, scansById, organization] = await Promise.all([
    assets
      .getMany(
        orgId,
        idsOf(
          'asset',
          chosen.map(({ asset_id }) => asset_id),
        ),
      )
      .then(keyed),
    projects
      .getMany(
        orgId,
        idsOf(
          'project',
          chosen.map(({ project_id }) => project_id),
        ),
      )
      .then(keyed),
    Promise.all(
      idsOf(
        'scan',
        chosen.map(({ last_seen_scan_id }) => last_seen_scan_id),
      ).map((id) => scans.get(orgId, id)),
    ).then((found) => keyed(found.filter((scan) => scan !== null))),
    organizations.getOrganization(orgId),
  ]);
  return chosen.map((finding) =>
    policyInput(finding, {
      asset: assetsById.get(fromOpaque('asset', finding.asset_id) ?? '') ?? null,
      project: projectsById.get(fromOpaque('project', finding.project_id ?? '') ?? '') ?? null,
      scan: scansById.get(fromOpaque('scan', finding.last_seen_scan_id) ?? '') ?? null,
      organization,
    }),
  );
}

function keyed<T extends { readonly id: string }>(records: readonly T[]): ReadonlyMap<string, T> {
  return new Map(records.map((record) => [record.id, record]));
}
