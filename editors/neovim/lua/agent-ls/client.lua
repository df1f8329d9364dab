--- The connection: configuration, handlers of what the server sends, requests.
local M = {}

local name = 'agent-ls'

--- The configuration for `vim.lsp.config`.
--- @return vim.lsp.Config
function M.config()
  return {
    cmd = require('agent-ls').options.cmd,
    root_dir = function(bufnr, on_dir)
      local root = vim.fs.root(bufnr, '.agent-ls')
      if root and vim.bo[bufnr].buftype == '' then
        on_dir(root)
      end
    end,
    capabilities = {
      -- Neovim applies versioned edits, though it does not say so.
      workspace = { workspaceEdit = { documentChanges = true } },
      experimental = {
        agent = { version = 1, approvals = true, questions = true, events = true, decisions = true, save = true },
      },
    },
    handlers = M.handlers(),
    on_init = function(client)
      M.pending(client)
    end,
    on_exit = function(_, _, client_id)
      vim.schedule(function()
        require('agent-ls.approval').forget(client_id)
        require('agent-ls.question').forget(client_id)
      end)
    end,
  }
end

function M.handlers()
  return {
    ['agent/event'] = function(_, event)
      require('agent-ls.runs').event(event)
    end,
    ['agent/hookDecision'] = function(_, decision)
      require('agent-ls.decisions').add(decision)
    end,
    -- Neovim runs this in a coroutine of its own: the answer may take hours.
    ['agent/approve'] = function(_, approval, ctx)
      return require('agent-ls.approval').ask(approval, ctx.client_id)
    end,
    ['agent/ask'] = function(_, question, ctx)
      return require('agent-ls.question').ask(question, ctx.client_id)
    end,
    ['agent/approvalResolved'] = function(_, resolved)
      require('agent-ls.approval').resolved(resolved)
    end,
    ['agent/save'] = function(_, params)
      return { saved = M.save(params.uris) }
    end,
  }
end

--- Saves those documents that are loaded here, and says which.
--- @param uris string[]
--- @return string[]
function M.save(uris)
  local saved = {}
  for _, uri in ipairs(uris) do
    local bufnr = vim.fn.bufnr(vim.uri_to_fname(uri))
    if bufnr ~= -1 and vim.api.nvim_buf_is_loaded(bufnr) then
      local ok = pcall(vim.api.nvim_buf_call, bufnr, function()
        vim.cmd('silent update')
      end)
      if ok then
        saved[#saved + 1] = uri
      end
    end
  end
  return saved
end

--- The running client of this buffer's workspace, or any; starts one where there is none.
--- @param callback fun(client: vim.lsp.Client)
function M.with(callback)
  local clients = vim.lsp.get_clients({ name = name, bufnr = 0 })
  if #clients == 0 then
    clients = vim.lsp.get_clients({ name = name })
  end
  if clients[1] then
    return callback(clients[1])
  end
  local config = vim.tbl_deep_extend('force', {}, vim.lsp.config[name] or M.config())
  config.name = name
  config.root_dir = vim.fs.root(0, { '.agent-ls', '.git' }) or vim.fn.getcwd()
  local id = vim.lsp.start(config, { attach = vim.bo.buftype == '' and vim.api.nvim_buf_get_name(0) ~= '' })
  local client = id and vim.lsp.get_client_by_id(id)
  if not client then
    return M.complain('the server does not start: ' .. table.concat(config.cmd, ' ') .. ' (see :checkhealth agent-ls)')
  end
  local waited = vim.wait(5000, function()
    return client.initialized == true
  end, 10)
  if not waited then
    return M.complain('the server does not answer (see :checkhealth agent-ls and :LspLog)')
  end
  callback(client)
end

--- Sends a request; errors are shown unless the callback wants them.
--- @param method string
--- @param params table
--- @param callback? fun(result: any, client: vim.lsp.Client)
function M.request(method, params, callback)
  M.with(function(client)
    client:request(method, vim.tbl_isempty(params) and vim.empty_dict() or params, function(err, result)
      if err then
        return M.complain(M.error_text(err))
      end
      if callback then
        callback(result, client)
      end
    end)
  end)
end

--- Waits, in a coroutine, for an answer that comes whenever the user gives it.
--- @param show fun(respond: fun(answer: table)) shows what is asked
--- @return table answer
function M.await(show)
  local co = coroutine.running()
  local answer
  show(function(given)
    answer = given
    if coroutine.status(co) == 'suspended' then
      coroutine.resume(co)
    end
  end)
  while not answer do
    coroutine.yield()
  end
  return answer
end

--- Answers what an earlier connection asked.
--- @param client_id integer
--- @param params table
function M.resolve(client_id, params)
  local client = vim.lsp.get_client_by_id(client_id)
  if not client then
    return
  end
  client:request('agent/resolve', params, function(err)
    if err then
      M.complain(err.message)
    end
  end)
end

--- Shows again what was open when the connection was lost.
--- @param client vim.lsp.Client
function M.pending(client)
  client:request('agent/pending', vim.empty_dict(), function(err, result)
    if err or not result then
      return
    end
    for _, approval in ipairs(result.approvals or {}) do
      require('agent-ls.approval').again(approval, client.id)
    end
    for _, question in ipairs(result.questions or {}) do
      if not question.elsewhere then
        require('agent-ls.question').again(question, client.id)
      end
    end
  end)
end

--- An error with what its data adds.
--- @param err table
--- @return string
function M.error_text(err)
  local parts = { err.message }
  for _, file in ipairs(err.data and err.data.diagnostics or {}) do
    for _, d in ipairs(file.diagnostics or {}) do
      local at = d.range.start
      parts[#parts + 1] = ('%s:%d:%d: %s [%s]'):format(
        require('agent-ls.text').file(file.uri),
        at.line + 1,
        at.character + 1,
        d.message,
        d.code or '?'
      )
    end
  end
  return table.concat(parts, '\n')
end

--- @param text string
function M.complain(text)
  vim.notify('agent-ls: ' .. require('agent-ls.text').visible(text), vim.log.levels.ERROR)
end

return M
