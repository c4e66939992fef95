import { openAsBlob } from 'node:fs';
import { fromEnv } from '@aws-sdk/credential-provider-env';
import { AwsClient, AwsV4Signer } from 'aws4fetch';
import type { KeptDatabase, Scanner } from '#domain/vocabulary.ts';

/** Where a run's raw report is kept: gzipped, redacted by the runner before it left its machine. */
interface ReportPlace {
  readonly orgId: string;
  readonly scanId: string;
  readonly assetId: string;
  readonly scanner: Scanner;
  /** `native`: as the scanner wrote it. `findings`: an import, already in our own terms. */
  readonly format?: 'native' | 'findings';
}

/** A caller's own report, as it was sent: until it has been taken in. */
export interface UploadPlace {
  readonly orgId: string;
  readonly scanId: string;
  readonly assetId: string;
}

/** The file of an export. */
export interface ExportPlace {
  readonly orgId: string;
  readonly exportId: string;
}

/** How long a presigned address is good for. */
export const UPLOAD_SECONDS = 900;

/** The place of an upload, as the bucket's notifications name it; null for every other object. */
export function uploadPlaceOf(key: string): UploadPlace | null {
  const [folder, orgId, scanId, assetId, file] = decodeURIComponent(key).split('/');
  return folder === 'raw' && orgId && scanId && assetId && file === 'upload'
    ? { orgId, scanId, assetId }
    : null;
}

export type ReportBucket = ReturnType<typeof createReportBucket>;

/**
 * The bucket of raw reports. It needs two requests of S3's, a GET and a signed PUT: the S3 client
 * would be a fifth of the bundle.
 * @param url address of the bucket itself, which also tells its region; without a slash at the end
 */
export function createReportBucket(url: string) {
  const credentials = fromEnv();

  return {
    /** A presigned PUT of exactly this many bytes: both headers are signed, S3 refuses others. */
    async presignUpload(
      place: ReportPlace | UploadPlace,
      bytes: number,
      contentType = 'application/gzip',
    ): Promise<{ url: string; headers: Record<string, string> }> {
      const headers = { 'content-type': contentType, 'content-length': String(bytes) };
      const signer = new AwsV4Signer({
        ...(await signingKeys(credentials)),
        service: 's3',
        method: 'PUT',
        url: `${url}/${keyOf(place)}?X-Amz-Expires=${UPLOAD_SECONDS}`,
        headers,
        signQuery: true,
        // Without this it would leave the length unsigned, and so unbounded.
        allHeaders: true,
      });
      return { url: (await signer.sign()).url.href, headers };
    },

    /** An address from which an export can be fetched, under a name of its own, by whoever has it. */
    async presignDownload(place: ExportPlace, fileName: string): Promise<string> {
      const query = new URLSearchParams({
        'X-Amz-Expires': String(UPLOAD_SECONDS),
        'response-content-disposition': `attachment; filename="${fileName}"`,
        'response-content-type': 'application/gzip',
      });
      const signer = new AwsV4Signer({
        ...(await signingKeys(credentials)),
        service: 's3',
        method: 'GET',
        url: `${url}/${keyOf(place)}?${query}`,
        signQuery: true,
      });
      return (await signer.sign()).url.href;
    },

    /** An address from which a runner takes a scanner's database. There may be none there. */
    async presignDatabase(name: KeptDatabase): Promise<string> {
      const signer = new AwsV4Signer({
        ...(await signingKeys(credentials)),
        service: 's3',
        method: 'GET',
        url: `${url}/${databaseKey(name)}?X-Amz-Expires=${UPLOAD_SECONDS}`,
        signQuery: true,
      });
      return (await signer.sign()).url.href;
    },

    /** Keeps a scanner's database in the place of the one before. The file is not read into memory. */
    async writeDatabase(name: KeptDatabase, path: string): Promise<void> {
      const body = await openAsBlob(path);
      const headers = { 'content-type': 'application/octet-stream', 'content-length': String(body.size) };
      const signer = new AwsV4Signer({
        ...(await signingKeys(credentials)),
        service: 's3',
        method: 'PUT',
        url: `${url}/${databaseKey(name)}?X-Amz-Expires=${UPLOAD_SECONDS}`,
        headers,
        signQuery: true,
        allHeaders: true,
      });
      const answer = await fetch((await signer.sign()).url, { method: 'PUT', headers, body });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`The report bucket answered ${answer.status}`);
    },

    /** Keeps a gzipped report or export. */
    async write(place: ReportPlace | ExportPlace, gzipped: Uint8Array<ArrayBuffer>): Promise<void> {
      const client = new AwsClient({ ...(await signingKeys(credentials)), service: 's3', retries: 4 });
      const headers = { 'content-type': 'application/gzip' };
      const answer = await client.fetch(`${url}/${keyOf(place)}`, { method: 'PUT', headers, body: gzipped });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`The report bucket answered ${answer.status}`);
    },

    /** Forgets an upload once its findings are kept: it can hold secrets. */
    async remove(place: UploadPlace): Promise<void> {
      const client = new AwsClient({ ...(await signingKeys(credentials)), service: 's3', retries: 4 });
      const answer = await client.fetch(`${url}/${keyOf(place)}`, { method: 'DELETE' });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`The report bucket answered ${answer.status}`);
    },

    /** The report as it was sent; null where none was uploaded. */
    async read(place: ReportPlace | UploadPlace): Promise<Uint8Array | null> {
      const client = new AwsClient({ ...(await signingKeys(credentials)), service: 's3', retries: 4 });
      const answer = await client.fetch(`${url}/${keyOf(place)}`);
      if (answer.ok) return new Uint8Array(await answer.arrayBuffer());
      await answer.body?.cancel();
      if (answer.status === 404) return null;
      throw new Error(`The report bucket answered ${answer.status}`);
    },
    /**
     * Deletes reports, 1,000 a page; false where the time was up before.
     * @param folder `<organization>/`, or `<organization>/<scan>/`
     */
    async purge(folder: `${string}/`, keepGoing: () => boolean): Promise<boolean> {
      const client = new AwsClient({ ...(await signingKeys(credentials)), service: 's3', retries: 4 });
      while (keepGoing()) {
        const listed = await client.fetch(`${url}?list-type=2&prefix=${encodeURIComponent(`raw/${folder}`)}`);
        if (!listed.ok) throw new Error(`The report bucket answered ${listed.status}`);
        // Our own keys: nothing in them needs unescaping.
        const keys = [...(await listed.text()).matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key]) => key);
        if (keys.length === 0) return true;
        for (const key of keys) {
          if (!keepGoing()) return false;
          await client.fetch(`${url}/${key}`, { method: 'DELETE' });
        }
      }
      return false;
    },
  };
}

async function signingKeys(credentials: ReturnType<typeof fromEnv>) {
  const { accessKeyId, secretAccessKey, sessionToken } = await credentials();
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}

function databaseKey(name: KeptDatabase): string {
  return `databases/${name}`;
}

function keyOf(place: ReportPlace | UploadPlace | ExportPlace): string {
  if ('exportId' in place) return `raw/${place.orgId}/exports/${place.exportId}.gz`;
  const folder = `raw/${place.orgId}/${place.scanId}/${place.assetId}`;
  if (!('scanner' in place)) return `${folder}/upload`;
  const { scanner, format = 'native' } = place;
  const kind = format === 'native' ? '' : `.${format}`;
  return `${folder}/${scanner}${kind}.json.gz`;
}
