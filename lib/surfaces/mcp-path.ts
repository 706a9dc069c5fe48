/** The path of the MCP server's streamable HTTP transport. */
export const MCP_PATH = '/mcp';
