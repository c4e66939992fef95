import { fromOpaque } from '#domain/ids.ts';
import type { UploadPlace } from '#shared/report-bucket.ts';
import type { TestOrganization } from './organization.ts';

/** Where an upload is kept until it was taken in. */
export function uploadPlace({ orgId }: TestOrganization, asset: string, scan: string): UploadPlace {
  return { orgId, scanId: idOf('scan', scan), assetId: idOf('asset', asset) };
}

function idOf(kind: 'scan' | 'asset', opaque: string): string {
  const id = fromOpaque(kind, opaque);
  if (id === null) throw new Error(`${opaque} is no id of ${kind}`);
  return id;
}
