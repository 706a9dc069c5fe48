declare module '@20minutes/s3rver' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  export interface ListOptions {
    prefix?: string;
    delimiter?: string;
    maxKeys?: number;
  }
  interface Listing {
    objects: { key: string }[];
    commonPrefixes: string[];
    isTruncated: boolean;
  }

  export default class S3rver {
    constructor(options: {
      directory: string;
      silent: boolean;
      allowMismatchedSignatures: boolean;
      configureBuckets: { name: string; configs: string[] }[];
    });
    configureBuckets(): Promise<unknown>;
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    store: {
      existsObject(bucket: string, key: string): Promise<boolean>;
      listObjects(bucket: string, options: ListOptions): Promise<Listing>;
    };
    logger: { close(): void };
  }
}
