import { reportedPath } from './normalise.ts';
import type { Run } from './sarif-log.ts';
import { nameWithoutSecrets } from './secret-shapes.ts';

type ArtifactLocation =
  | { uri?: string | null | undefined; index?: number | null | undefined }
  | null
  | undefined;

/** As the report writes it; null or undefined where it names none. */
export function uriOf({ artifacts }: Run, location: ArtifactLocation): string | null | undefined {
  return location?.uri ?? artifacts?.[location?.index ?? -1]?.location?.uri;
}

/** As findings name it. */
export function pathOf(one: Run, location: ArtifactLocation): string {
  const uri = uriOf(one, location) ?? '.';
  // Before decoding too: in an address an encoded `/` or `@` is part of the password.
  const plain = nameWithoutSecrets(uri).replace(/^file:\/\/(?:localhost)?/i, '');
  return reportedPath.parse(decoded(plain));
}

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}
