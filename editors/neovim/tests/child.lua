--- A Neovim of its own for each test, driven over RPC: real keys, a real screen, the real server.
local Child = {}
Child.__index = Child

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local plugin = vim.fn.fnamemodify(here, ':h')

--- @param workspace string the current folder of the child
--- @param env table<string, string>
function Child.start(workspace, env)
  local self = setmetatable({ workspace = workspace }, Child)
  self.chan = vim.fn.jobstart({
    vim.v.progpath,
    '--embed',
    '--headless',
    '--clean',
    '--cmd',
    'set runtimepath^=' .. plugin,
    '--cmd',
    'set noswapfile shortmess+=I columns=120 lines=40',
  }, { rpc = true, cwd = workspace, env = env })
  assert(self.chan > 0, 'the child Neovim does not start')
  return self
end

--- Runs Lua in the child; `...` arrive as its `...`.
function Child:lua(code, ...)
  return vim.rpcrequest(self.chan, 'nvim_exec_lua', code, { ... })
end

function Child:cmd(command)
  vim.rpcrequest(self.chan, 'nvim_command', command)
end

--- Types keys as a person would, and ends whatever they left half done (an operator, a mapping).
function Child:type(keys)
  vim.rpcrequest(self.chan, 'nvim_input', keys)
  local ready = vim.wait(20000, function()
    local mode = vim.rpcrequest(self.chan, 'nvim_get_mode') -- answered even while Neovim waits for a key
    if mode.blocking then
      vim.rpcrequest(self.chan, 'nvim_input', '<Esc>')
    end
    return not mode.blocking
  end, 10)
  assert(ready, 'the child waits for keys for ever')
  self:lua('return 1') -- a round trip: the keys have been read
end

--- Waits until Lua in the child returns something true, and returns it.
function Child:wait(what, code, ...)
  local args, value = { ... }, nil
  local ok = vim.wait(20000, function()
    value = self:lua(code, unpack(args))
    return value and value ~= vim.NIL
  end, 20)
  if not ok then
    error(('waited in vain for %s; the screen:\n%s\nmessages:\n%s'):format(what, self:screen(), self:messages()), 2)
  end
  return value
end

function Child:messages()
  return self:lua([[return vim.fn.execute('messages')]])
end

--- The screen as text.
function Child:screen()
  return self:lua([[
    vim.cmd.redraw()
    local rows = {}
    for row = 1, vim.o.lines do
      local cells = {}
      for col = 1, vim.o.columns do
        cells[col] = vim.fn.screenstring(row, col)
      end
      rows[row] = table.concat(cells):gsub('%s+$', '')
    end
    return table.concat(rows, '\n')
  ]])
end

--- The text of the approval's float, nil where none is shown.
function Child:float()
  local text = self:lua([[
    for _, win in ipairs(vim.api.nvim_list_wins()) do
      if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'agent-ls-approval' then
        return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false), '\n')
      end
    end
  ]])
  return text ~= vim.NIL and text or nil
end

function Child:wait_float()
  return self:wait(
    'an approval',
    [[
    for _, win in ipairs(vim.api.nvim_list_wins()) do
      local bufnr = vim.api.nvim_win_get_buf(win)
      if vim.bo[bufnr].filetype == 'agent-ls-approval' then
        return table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n')
      end
    end
  ]]
  )
end

function Child:wait_status(status)
  return self:wait(
    'a run that is ' .. status,
    [[
    local runs = require('agent-ls.runs')
    local run = runs.newest and runs.runs[runs.newest]
    return run and run.status == ...
  ]],
    status
  )
end

function Child:stop()
  pcall(vim.rpcnotify, self.chan, 'nvim_command', 'qall!')
  vim.fn.jobwait({ self.chan }, 5000)
end

return Child
