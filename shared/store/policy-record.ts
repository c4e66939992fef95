import * as z from 'zod';
import { SCOPES } from '#domain/vocabulary.ts';
import { POLICY_KINDS } from '#shared/policy/kinds.ts';

/** A policy as it is kept: slim, because what evaluates reads all of an organization's at once. */
export const PolicyRecord = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  kind: z.enum(POLICY_KINDS),
  scope: z.enum(SCOPES),
  scope_target_id: z.string().nullable(),
  active: z.boolean(),
  /** The current one. */
  version: z.int(),
  /** Names the current version's source and what it compiled to. */
  code: z.string(),
  /** Counts its writes: every change is conditional on the one that it was decided on. */
  revision: z.int(),
  created_at: z.string(),
  updated_at: z.string(),
});
export type PolicyRecord = z.infer<typeof PolicyRecord>;

/** A version: never changed, never deleted. */
export const PolicyVersionRecord = z.object({
  version: z.int(),
  created_at: z.string(),
  author: z.string(),
  message: z.string().nullable(),
  active: z.boolean(),
  kind: z.enum(POLICY_KINDS),
  scope: z.enum(SCOPES),
  scope_target_id: z.string().nullable(),
  code: z.string(),
});
export type PolicyVersionRecord = z.infer<typeof PolicyVersionRecord>;
