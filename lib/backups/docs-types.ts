import { html } from 'hono/html';
import type { OpenApiDocument } from '../platform/http/openapi.ts';

export type Html = ReturnType<typeof html>;
export type Schema = NonNullable<NonNullable<OpenApiDocument['components']>['schemas']>[string];
type Reference = Extract<Schema, { $ref: string }>;
type Described = Exclude<Schema, boolean | Reference>;

/** Where the description of a schema or a group stands on the page. */
export const anchor = (name: string): string => encodeURIComponent(name.toLowerCase());

/** Renders a schema in a line: its type, a link to its description, or its fields. Escapes everything. */
export function renderType(schema: Schema): Html {
  if (isReference(schema)) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    return html`<a href="#${anchor(name)}"><code>${name}</code></a>`;
  }
  // In JSON Schema 2020-12 true stands for anything and false for nothing.
  if (!isDescribed(schema)) return html`${schema ? 'anything' : 'nothing'}`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return join(choices.map(renderType), ' or ');
  if (schema.enum) {
    const values = schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`);
    return html`${join(values, ' or ')}${renderLimits(schema)}`;
  }
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.items) return html`array of ${renderType(schema.items)}`;
  if (schema.properties) {
    const fields = Object.entries(schema.properties).map(
      ([name, type]) => html`<code>${name}</code>: ${renderType(type)}`,
    );
    return html`{ ${join(fields, ', ')} }`;
  }
  const types = [schema.type ?? 'anything'].flat().join(' or ');
  return html`${types}${schema.format === undefined ? '' : ` (${schema.format})`}${renderLimits(schema)}`;
}

function renderLimits({ default: fallback, minimum, maximum }: Described): Html {
  const limits = [
    ...(fallback === undefined ? [] : [`default ${fallback}`]),
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? [] : [`from ${minimum}`]),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? [] : [`to ${maximum}`]),
  ];
  return limits.length === 0 ? html`` : html`<span class="quiet">, ${limits.join(', ')}</span>`;
}

function join(parts: Html[], separator: string): Html {
  return html`${parts.map((part, index) => (index === 0 ? part : html`${separator}${part}`))}`;
}

/** Is it more than a link to a schema that is described elsewhere? */
export function isDescribed(schema: Schema): schema is Described {
  return typeof schema === 'object' && !isReference(schema);
}

function isReference(schema: Schema): schema is Reference {
  return typeof schema === 'object' && '$ref' in schema && schema.$ref !== undefined;
}
