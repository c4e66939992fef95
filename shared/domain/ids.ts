import { stringify, v5, v7 } from 'uuid';
import type { Clock } from './clock.ts';

/** Prefixes of Family B's opaque identifiers (the specification gives `proj_` and `f_`). */
export const ID_PREFIXES = {
  project: 'proj',
  finding: 'f',
  scan: 'scan',
  asset: 'asset',
  policy: 'pol',
  ticket: 'tkt',
  team: 'team',
  user: 'user',
  organization: 'org',
  invitation: 'inv',
  run: 'run',
  export: 'exp',
} as const;
export type IdKind = keyof typeof ID_PREFIXES;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Makes identifiers; the one place where randomness enters them. */
export interface Ids {
  /** A UUIDv7: sorts by time of creation. */
  next(): string;
}

export function createIds(clock: Clock): Ids {
  return { next: () => v7({ msecs: clock.now() }) };
}

/** Family B's form of an id: prefix, underscore, the UUID's 32 hex digits. */
export function toOpaque(kind: IdKind, id: string): string {
  return `${ID_PREFIXES[kind]}_${id.replaceAll('-', '')}`;
}

/** The UUID behind an opaque id, or null where it is malformed or of another kind. */
export function fromOpaque(kind: IdKind, opaque: string): string | null {
  const prefix = `${ID_PREFIXES[kind]}_`;
  if (!opaque.startsWith(prefix) || opaque.length !== prefix.length + 32) return null;
  const hex = opaque.slice(prefix.length);
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  return UUID.test(id) ? id : null;
}

/** The UUID behind an id of either family, in any case and of whatever kind; null where the text is none. */
export function readId(text: string): string | null {
  const lower = text.toLowerCase();
  if (UUID.test(lower)) return lower;
  const kinds = Object.keys(ID_PREFIXES) as IdKind[];
  return kinds.map((kind) => fromOpaque(kind, lower)).find((id) => id !== null) ?? null;
}

// Made once at random; changing it would give every finding a new identity.
const FINDING_NAMESPACE = '5b0c2f4e-9a57-4d0c-8a3e-6d8f3f0b7c11';

/**
 * A finding's id: UUIDv5 of (organization, asset, scanner, fingerprint), so that a replay, a retry
 * or two scans at once cannot make a second record (design 5).
 */
export function findingId(orgId: string, assetId: string, scanner: string, fingerprint: string): string {
  return v5(`${orgId}/${assetId}/${scanner}/${fingerprint}`, FINDING_NAMESPACE);
}

/** The 16 bytes of a UUID, as manifests keep them. */
export function idToBytes(id: string): Uint8Array {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

export function idFromBytes(bytes: Uint8Array): string {
  return stringify(bytes);
}
