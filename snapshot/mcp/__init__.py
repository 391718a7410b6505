"""A server of the Model Context Protocol that offers an archive's exact text to any client.

`library` finds archives in a file, a folder or a store; `server` offers three tools over them, by the
official SDK (extra `mcp`).
"""
