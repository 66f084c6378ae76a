"""The MCP server: what an agent calls (arguments, calls, tools) and what carries it (server)."""
