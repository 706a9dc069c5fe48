/** A JSON Schema as `/openapi.json` and `tools/list` write it. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  schema: JsonSchema;
}

/** The answer of an operation with one status. */
export interface DescribedResponse {
  headers?: Record<string, { schema?: JsonSchema; $ref?: string }>;
  content?: Record<string, { schema?: JsonSchema }>;
}

/** One method of one path of the document. */
export interface Operation {
  /** `GET /api/backups/{id}`. */
  name: string;
  method: string;
  path: string;
  parameters: Parameter[];
  body: { mediaType: string; schema: JsonSchema } | null;
  /** The names of the security schemes that let a request in; empty for a public path. */
  schemes: string[];
  responses: Record<string, DescribedResponse>;
  /** Whether the path also exists with `/observatory` in front. */
  hasPrefix: boolean;
}

/** The document as it is served. */
export interface OpenApi {
  paths: Record<string, Record<string, unknown>>;
  components: Record<string, Record<string, unknown>>;
}

interface DescribedOperation {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
  security: Record<string, unknown>[];
  responses: Record<string, DescribedResponse>;
}

/** Every operation of a document. */
export function listOperations(document: OpenApi): Operation[] {
  return Object.entries(document.paths).flatMap(([path, { servers, ...methods }]) =>
    Object.entries(methods).map(([method, described]) => {
      const { parameters = [], requestBody, security, responses } = described as DescribedOperation;
      const [content] = Object.entries(requestBody?.content ?? {});
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        parameters,
        body: content ? { mediaType: content[0], schema: content[1].schema } : null,
        schemes: security.flatMap((scheme) => Object.keys(scheme)),
        responses,
        hasPrefix: servers !== undefined,
      };
    }),
  );
}

/** The schema that a reference in the document names. */
export function resolveSchema(document: OpenApi, schema: JsonSchema): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const name = schema.$ref.replace('#/components/schemas/', '');
  const found = document.components.schemas?.[name];
  if (found === undefined) throw new Error(`the document has no schema ${schema.$ref}`);
  return resolveSchema(document, found as JsonSchema);
}
