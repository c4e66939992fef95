/** Kinds of policies, and the Rego package that each has. */
export const POLICY_KINDS = ['triage', 'priority', 'ownership', 'project', 'pr_scan'] as const;
export type PolicyKind = (typeof POLICY_KINDS)[number];

export interface PolicySource {
  readonly kind: PolicyKind;
  readonly rego: string;
}

export function packageOf(kind: PolicyKind): string {
  return `svc.${kind}`;
}
