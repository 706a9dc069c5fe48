import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import type { OpenApiDocument } from '../platform/http/openapi.ts';
import { docsStyle } from './docs-style.ts';
import { anchor, type Html, isDescribed, renderType, type Schema } from './docs-types.ts';

type Paths = NonNullable<OpenApiDocument['paths']>;
type Operation = NonNullable<Paths[string]['get']>;

const styleHash = createHash('sha256').update(docsStyle).digest('base64');

/** Nothing is loaded and nothing runs: the page has one style of its own. */
export const docsContentSecurityPolicy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** Renders an OpenAPI document as a page for people. Everything in it is escaped. */
export function renderDocs(document: OpenApiDocument) {
  const { info, tags = [], paths = {}, components } = document;
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item?.[method];
      return operation ? [{ path, method, operation }] : [];
    }),
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} API</title>
<style>${raw(docsStyle)}</style>
</head>
<body>
<h1>${info.title} API</h1>
<p>${info.description ?? ''} <span class="quiet">Version ${info.version}.</span></p>
<nav>${tags.map(({ name }) => html`<a href="#${anchor(name)}">${name}</a> `)}
<a href="#schemas">Schemas</a> <a href="/openapi.json">openapi.json</a></nav>
<p>Send the secret as <code>X-Internal-Secret: …</code> or <code>Authorization: Bearer …</code>.
Every answer carries <code>X-Request-ID</code>.</p>
${tags.map(
  ({ name }) => html`<h2 id="${anchor(name)}">${name}</h2>
${operations
  .filter(({ operation }) => operation.tags?.includes(name))
  .map(({ path, method, operation }) => renderOperation(method, path, operation))}`,
)}
<h2 id="schemas">Schemas</h2>
${Object.entries(components?.schemas ?? {}).map(([name, schema]) => renderSchema(name, schema))}
</body>
</html>`;
}

function renderOperation(method: string, path: string, operation: Operation): Html {
  const access = operation.security?.length ? 'needs the secret' : 'public';
  return html`<details>
<summary><b>${method.toUpperCase()}</b> <code>${path}</code> <span class="quiet">${operation.summary ?? ''}</span></summary>
<p>${operation.description ?? ''} <span class="quiet">Access: ${access}.</span></p>
${operation.parameters?.length ? renderParameters(operation.parameters) : ''}
<h3>Answers</h3>
${renderTable(
  ['Status', 'Meaning', 'Body'],
  Object.entries(operation.responses ?? {}).map(([status, response]) => [
    html`<code>${status}</code>`,
    'description' in response ? (response.description ?? '') : '',
    'content' in response ? renderContent(response.content ?? {}) : '',
  ]),
)}
</details>`;
}

function renderParameters(parameters: NonNullable<Operation['parameters']>): Html {
  const rows = parameters.flatMap((parameter) =>
    'name' in parameter
      ? [
          [
            html`<code>${parameter.name}</code>`,
            `${parameter.in}, ${parameter.required ? 'required' : 'optional'}`,
            renderType(parameter.schema ?? {}),
            parameter.description ?? '',
          ],
        ]
      : [],
  );
  return html`<h3>Parameters</h3>
${renderTable(['Name', 'Where', 'Type', 'Meaning'], rows)}`;
}

function renderContent(content: Record<string, { schema?: Schema }>): Html[] {
  return Object.entries(content).map(
    ([type, { schema }]) =>
      html`<div>${type === 'application/json' ? renderType(schema ?? {}) : html`<code>${type}</code>`}</div>`,
  );
}

function renderSchema(name: string, schema: Schema): Html {
  const { properties, description } = isDescribed(schema) ? schema : {};
  const rows = Object.entries(properties ?? {}).map(([field, type]) => [
    html`<code>${field}</code>`,
    renderType(type),
    isDescribed(type) ? (type.description ?? '') : '',
  ]);
  return html`<details id="${anchor(name)}">
<summary><code>${name}</code></summary>
<p>${description ?? ''}</p>
${rows.length ? renderTable(['Field', 'Type', 'Meaning'], rows) : renderType(schema)}
</details>`;
}

function renderTable(head: string[], rows: (Html | Html[] | string)[][]): Html {
  return html`<div class="scroll"><table>
<tr>${head.map((cell) => html`<th>${cell}</th>`)}</tr>
${rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}
</table></div>`;
}
