import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { Scanner } from '#domain/vocabulary.ts';

/** Where a run's raw report is kept: gzipped, redacted by the runner before it left its machine. */
interface ReportPlace {
  readonly orgId: string;
  readonly scanId: string;
  readonly assetId: string;
  readonly scanner: Scanner;
}

const UPLOAD_SECONDS = 900;

export type ReportBucket = ReturnType<typeof createReportBucket>;

export function createReportBucket(bucket: string, pathStyle: boolean) {
  // Checksums in the presigned query would bind the runner to one body before it is known.
  const client = new S3Client({
    forcePathStyle: pathStyle,
    maxAttempts: 4,
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });

  return {
    /** A presigned PUT of exactly this many bytes. */
    async presignUpload(
      place: ReportPlace,
      bytes: number,
    ): Promise<{ url: string; headers: Record<string, string> }> {
      const headers = { 'content-type': 'application/gzip', 'content-length': String(bytes) };
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: keyOf(place),
        ContentType: headers['content-type'],
        ContentLength: bytes,
      });
      const url = await getSignedUrl(client, command, {
        expiresIn: UPLOAD_SECONDS,
        signableHeaders: new Set(['content-type', 'content-length', 'host']),
      });
      return { url, headers };
    },

    /** The gzipped report; null where none was uploaded. */
    async read(place: ReportPlace): Promise<Uint8Array | null> {
      try {
        const answer = await client.send(new GetObjectCommand({ Bucket: bucket, Key: keyOf(place) }));
        return (await answer.Body?.transformToByteArray()) ?? null;
      } catch (error) {
        if (error instanceof Error && error.name === 'NoSuchKey') return null;
        throw error;
      }
    },
  };
}

function keyOf({ orgId, scanId, assetId, scanner }: ReportPlace): string {
  return `raw/${orgId}/${scanId}/${assetId}/${scanner}.json.gz`;
}
