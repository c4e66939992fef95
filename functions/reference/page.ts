import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { notFound } from '#domain/errors.ts';
import type { HttpResponse } from '#http/render.ts';
import type { HttpEvent } from '#http/request-state.ts';

/** What the reference page is made of: our own files, and Swagger UI's, all from this function: no CDN. */
const FILES = new Map<string, { readonly type: string; readonly own: boolean }>(
  Object.entries({
    'index.html': { type: 'text/html; charset=utf-8', own: true },
    'reference.js': { type: 'text/javascript; charset=utf-8', own: true },
    'reference.css': { type: 'text/css; charset=utf-8', own: true },
    'swagger-ui-bundle.js': { type: 'text/javascript; charset=utf-8', own: false },
    'swagger-ui.css': { type: 'text/css; charset=utf-8', own: false },
    'favicon-32x32.png': { type: 'image/png', own: false },
  }),
);

const HEADERS = {
  // Swagger UI writes style attributes and shows data: images; scripts are files of this origin alone.
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
};

/** @param assetsDir folder of Swagger UI's files, relative to this function's folder, or absolute */
export function createPage(assetsDir: string) {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const held = new Map<string, Promise<Buffer>>();
  const folderOf = (own: boolean) =>
    own ? `${here}page` : assetsDir.startsWith('/') ? assetsDir : `${here}${assetsDir}`;

  /** The page at `/docs`, its files below; null elsewhere. */
  return async function page(event: HttpEvent): Promise<HttpResponse | null> {
    if (event.requestContext.http.method !== 'GET') return null;
    const name = /^\/docs(?:\/([\w.-]+))?$/.exec(event.rawPath);
    if (!name) throw notFound(event.rawPath);
    const wanted = name[1] ?? 'index.html';
    const file = FILES.get(wanted);
    if (!file) throw notFound(event.rawPath);
    const body = await (held.get(wanted) ?? remember(wanted, readFile(`${folderOf(file.own)}/${wanted}`)));
    return {
      statusCode: 200,
      headers: {
        'content-type': file.type,
        'cache-control': file.own ? 'no-cache' : 'public, max-age=86400',
        ...HEADERS,
      },
      body: body.toString('base64'),
      isBase64Encoded: true,
    };
  };

  function remember(name: string, content: Promise<Buffer>): Promise<Buffer> {
    held.set(name, content);
    content.catch(() => held.delete(name));
    return content;
  }
}
