-- What `vim.lsp.enable("agent-ls")` finds. It attaches to every file below a folder with an agent, since
-- the agent reads what the user sees, saved or not.
return require('agent-ls.client').config()
