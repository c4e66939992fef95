import { AwsClient } from 'aws4fetch';
import { inject } from 'vitest';

/** What the bucket of the service under test lists of a folder: S3's own XML. */
export async function listObjects(prefix: string): Promise<string> {
  const { bucketUrl, credentials } = inject('service');
  const client = new AwsClient({ ...credentials, service: 's3' });
  const answer = await client.fetch(`${bucketUrl}?list-type=2&prefix=${encodeURIComponent(prefix)}`);
  if (!answer.ok) throw new Error(`The bucket answered ${answer.status}`);
  return answer.text();
}
