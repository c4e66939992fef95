import type * as z from 'zod';
import type { AuditEntry } from '#contract/schemas/records.ts';
import { ID_PREFIXES, type IdKind, toOpaque } from '#domain/ids.ts';
import type { AuditRecord } from '#store/audit-log.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * An entry as Family B shows it. Entries are kept with UUIDs; types that have no opaque form (keys,
 * integrations, sessions) keep these.
 */
export function presentAuditEntry(record: AuditRecord): z.input<typeof AuditEntry> {
  const { actor, target, changes } = record;
  return {
    ...record,
    actor: { ...actor, id: actor.type === 'user' && actor.id !== null ? idOf('user', actor.id) : actor.id },
    target: { ...target, id: hasOpaqueForm(target.type) ? idOf(target.type, target.id) : target.id },
    changes: showFields(changes, kindOfTarget(changes)),
  };
}

function hasOpaqueForm(type: string): type is IdKind {
  return Object.hasOwn(ID_PREFIXES, type);
}

/** Fields whose names do not end with what they name. */
const OTHER_FIELDS: Readonly<Record<string, IdKind>> = {
  assignee: 'user',
  parent_id: 'project',
  org_id: 'organization',
};

function showFields(fields: object, targetKind: IdKind | null): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, show(value, kindOf(name, targetKind), targetKind)]),
  );
}

/** `kind` holds for the value itself, for the elements of a list, and for what was before and after. */
function show(value: unknown, kind: IdKind | null, targetKind: IdKind | null): unknown {
  if (typeof value === 'string') return kind === null ? value : idOf(kind, value);
  if (Array.isArray(value)) return value.map((element) => show(element, kind, targetKind));
  if (typeof value !== 'object' || value === null) return value;
  if (kind === null) return showFields(value, targetKind);
  return Object.fromEntries(
    Object.entries(value).map(([name, held]) => [name, show(held, kind, targetKind)]),
  );
}

/** `sub_project_id`, `asset_ids`, `first_seen_scan_id`: the last word is the kind. */
function kindOf(field: string, targetKind: IdKind | null): IdKind | null {
  if (/^(?:scope_)?target_id$/.test(field)) return targetKind;
  const [, word = ''] = /(?:^|_)([a-z]+)_ids?$/.exec(field) ?? [];
  return OTHER_FIELDS[field] ?? (hasOpaqueForm(word) ? word : null);
}

/** What `target_id` of a scan names is told by its `scope`. */
function kindOfTarget({ scope }: Record<string, unknown>): IdKind | null {
  const { before, after = before } = (scope ?? {}) as { before?: unknown; after?: unknown };
  return after === 'project' || after === 'asset' ? after : null;
}

function idOf(kind: IdKind, id: string): string {
  return UUID.test(id) ? toOpaque(kind, id) : id;
}
