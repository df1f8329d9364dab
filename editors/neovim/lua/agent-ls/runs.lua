--- What runs, as the server's events tell it: the log of each run, the statusline.
local text = require('agent-ls.text')

local M = {}

--- `within` is the run whose log a sub-agent's run is told in.
--- @type table<string, { status: string, stage: string, session: string, log: integer?, within: string? }>
M.runs = {}
--- The newest run's id.
M.newest = nil

local function log_buffer(run_id)
  local run = M.runs[run_id]
  if run.log and vim.api.nvim_buf_is_valid(run.log) then
    return run.log
  end
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(bufnr, 'agent-ls://run/' .. run_id)
  vim.bo[bufnr].filetype = 'agent-ls-log'
  vim.bo[bufnr].modifiable = false
  run.log = bufnr
  return bufnr
end

--- Adds text behind the end of a run's log; `fresh` starts a new line first.
local function append(run_id, added, fresh)
  local bufnr = log_buffer(run_id)
  local last = vim.api.nvim_buf_line_count(bufnr) - 1
  local tail = vim.api.nvim_buf_get_lines(bufnr, last, last + 1, false)[1]
  local lines = text.lines(added)
  if #lines == 0 then
    return
  end
  vim.bo[bufnr].modifiable = true
  if fresh and tail ~= '' then
    vim.api.nvim_buf_set_lines(bufnr, last + 1, last + 1, false, lines)
  else
    lines[1] = tail .. lines[1]
    vim.api.nvim_buf_set_lines(bufnr, last, last + 1, false, lines)
  end
  if vim.endswith(added, '\n') then
    vim.api.nvim_buf_set_lines(bufnr, -1, -1, false, { '' })
  end
  vim.bo[bufnr].modifiable = false
  local count = vim.api.nvim_buf_line_count(bufnr)
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    if win ~= vim.api.nvim_get_current_win() then
      vim.api.nvim_win_set_cursor(win, { count, 0 })
    end
  end
end

local show = {
  run_started = function(e)
    return ('run: agent %s, model %s, sandbox: %s'):format(e.agent or '?', e.model or '?', e.sandbox or '?')
  end,
  stage_entered = function(e)
    return '── stage ' .. e.stage
  end,
  tool_started = function(e)
    return ('→ %s  %s'):format(e.tool, e.title or '')
  end,
  tool_finished = function(e)
    return ('  %s'):format(e.outcome or '')
  end,
  agent_spawned = function(e)
    return '⤷ sub-agent ' .. (e.agent or '?')
  end,
  question_asked = function()
    return '  the agent asks: :Agent answer'
  end,
  approval_requested = function()
    return '  approval needed: :Agent approve'
  end,
  approval_withdrawn = function(e)
    return '  approval withdrawn (' .. (e.by or '?') .. ')'
  end,
  file_changed = function(e)
    return e.diff
  end,
  retrying = function(e)
    return ('retrying (attempt %d): %s'):format(e.attempt or 0, e.because or '')
  end,
  notice = function(e)
    return (e.level or 'info') .. ': ' .. (e.text or '')
  end,
  run_finished = function(e)
    if (e.depth or 0) > 0 then
      return ('sub-agent %s'):format(e.status) .. (e.error and ': ' .. e.error or '')
    end
    local line = ('run %s (%s)'):format(e.status, e.stopReason)
    return e.error and line .. ': ' .. e.error or line
  end,
}

--- Takes one event of the server.
--- @param e table
function M.event(e)
  local run = M.runs[e.runId]
  if not run then
    run = { status = 'running', stage = e.stage, session = e.sessionId }
    M.runs[e.runId] = run
    local parent = e.parentRunId and M.runs[e.parentRunId]
    if parent then
      run.within = parent.within or e.parentRunId
    end
    if (e.depth or 0) == 0 then
      M.newest = e.runId
    end
  end
  run.stage = e.stage or run.stage
  if e.type == 'question_closed' then
    require('agent-ls.question').closed(e.id)
  end
  if run.within then
    M.nested(e, run)
  elseif e.type == 'text_delta' then
    append(e.runId, e.text, not run.streaming)
    run.streaming = true
    return
  elseif e.type == 'message' then
    if not run.streaming then
      append(e.runId, e.text, true)
    end
    run.streaming = false
  elseif show[e.type] then
    run.streaming = false
    append(e.runId, show[e.type](e) or '', true)
  end
  if e.type == 'run_finished' then
    run.status = e.status
  end
  vim.cmd.redrawstatus()
end

--- Tells an event of a sub-agent in the log of the run at the top, indented. Several may write at once, so that
--- their texts come whole.
function M.nested(e, run)
  local told = e.type == 'message' and e.text or show[e.type] and show[e.type](e)
  if told then
    M.runs[run.within].streaming = false
    local indent = ('  '):rep(e.depth or 1)
    append(run.within, indent .. told:gsub('\n(.)', '\n' .. indent .. '%1'), true)
  end
end

--- Opens the log of a run in a split below, keeping the focus.
--- @param run_id string?
function M.open(run_id)
  run_id = run_id or M.newest
  if not run_id or not M.runs[run_id] then
    return require('agent-ls.client').complain('no run yet')
  end
  local bufnr = log_buffer(run_id)
  if #vim.fn.win_findbuf(bufnr) > 0 then
    return
  end
  vim.api.nvim_open_win(bufnr, false, { split = 'below', height = 12, win = 0 })
end

--- Notes a run that was just started, before its first event.
--- @param started { runId: string, sessionId: string }
function M.started(started)
  M.runs[started.runId] = M.runs[started.runId] or { status = 'running', stage = '', session = started.sessionId }
  M.newest = started.runId
  if require('agent-ls').options.open_log then
    M.open(started.runId)
  end
end

--- @return string
function M.statusline()
  local run = M.newest and M.runs[M.newest]
  local open, asks = require('agent-ls.approval').count(), require('agent-ls.question').count()
  if not run and open == 0 and asks == 0 then
    return ''
  end
  local parts = { 'agent: ' .. (run and run.status or 'waiting') }
  if run and run.status == 'running' and run.stage ~= '' then
    parts[#parts + 1] = run.stage
  end
  if open > 0 then
    parts[#parts + 1] = open == 1 and '1 approval' or open .. ' approvals'
  end
  if asks > 0 then
    parts[#parts + 1] = asks == 1 and '1 question' or asks .. ' questions'
  end
  return table.concat(parts, ', ')
end

return M
