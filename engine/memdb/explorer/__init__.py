"""The explorer: a page that shows a store as a graph, and the HTTP API that it uses, on Datasette's server."""
