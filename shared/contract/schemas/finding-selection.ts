import * as z from 'zod';
import { CVE_ID } from '#domain/cve.ts';
import { FINDING_STATUSES, SCANNERS, SEVERITIES } from '#domain/vocabulary.ts';
import { opaqueIdInput } from './common.ts';

export const CveId = z
  .string()
  .trim()
  .toUpperCase()
  .regex(CVE_ID, 'must be a CVE identifier such as CVE-2020-7471');

const Age = z.int().min(0).max(100_000);

/**
 * The filters of a list of findings, as JSON has them: for updates in bulk, and for exports. Unlike elsewhere an
 * unknown field is refused: passed over, it would select more than was meant.
 */
export const FindingSelection = z.strictObject({
  severity: z.array(z.enum(SEVERITIES)).min(1).optional(),
  status: z.array(z.enum(FINDING_STATUSES)).min(1).optional(),
  scanner: z.array(z.enum(SCANNERS)).min(1).optional(),
  cve_id: CveId.optional(),
  age_min: Age.optional(),
  age_max: Age.optional(),
  project_id: opaqueIdInput('project').optional(),
  sub_project_id: opaqueIdInput('project').optional(),
  asset_id: opaqueIdInput('asset').optional(),
  overdue: z.boolean().optional(),
});
