--- Approvals in a float. It opens beside the work, without the focus; no single key means yes, there or anywhere: an
--- outcome is chosen with a chord that starts with `g` inside the focused float, or named with `:Agent approve`.
local text = require('agent-ls.text')

local M = {}

--- Open ones in the order of arrival.
--- @type { approval: table, client_id: integer, respond: fun(answer: table), refused: table<integer, boolean> }[]
local queue = {}
local float = { bufnr = nil, win = nil, focused_at = 0, hunk_lines = {} }

local outcomes = {
  { word = 'once', outcome = 'allowOnce', chord = 'go', says = 'allow once' },
  { word = 'session', outcome = 'allowSession', chord = 'gs', says = 'allow for this session' },
  { word = 'always', outcome = 'allowAlways', chord = 'ga', says = 'always allow' },
  { word = 'deny', outcome = 'deny', chord = 'gd', says = 'deny' },
}

--- How many are open.
--- @return integer
function M.count()
  return #queue
end

--- The words that the first open approval can be answered with.
--- @return string[]
function M.words()
  local first = queue[1]
  local words = {}
  for _, o in ipairs(outcomes) do
    if first and vim.list_contains(first.approval.outcomes, o.outcome) then
      words[#words + 1] = o.word
    end
  end
  return words
end

local function decision_line(d)
  local at = ''
  if d.hook and d.hook.uri then
    at = ' at ' .. text.file(d.hook.uri)
    if d.hook.range then
      at = at .. ':' .. (d.hook.range.start.line + 1)
    end
  end
  local why = d.reason and (': ' .. d.reason) or ''
  return ('hook   %s %s%s%s'):format(d.event, d.action, at, why)
end

--- The lines of an approval, with the numbers of the hunks that lines belong to.
--- @param entry table
--- @return string[] lines, table<integer, integer> hunk_lines
function M.render(entry)
  local a = entry.approval
  local lines, hunk_lines = {}, {}
  local function add(s)
    vim.list_extend(lines, text.lines(s))
  end
  add(a.title .. '  [' .. a.risk .. ', stage ' .. a.stage .. ']')
  for _, why in ipairs(a.why or {}) do
    add('why    ' .. why)
  end
  for _, d in ipairs(a.hooks or {}) do
    add(decision_line(d))
  end
  if a.covers and a.covers.session then
    add('session would cover  ' .. a.covers.session)
  end
  if a.covers and a.covers.always then
    add('always would cover   ' .. a.covers.always)
  end
  add(' ')
  if a.command then
    add('in ' .. a.command.cwd)
    add('$ ' .. a.command.line)
    for _, c in ipairs(a.command.commands or {}) do
      add('  runs ' .. (type(c) == 'string' and c or vim.json.encode(c)))
    end
  end
  for _, edit in ipairs(a.edits or {}) do
    local n = 0
    for _, line in ipairs(text.lines(edit.diff)) do
      if vim.startswith(line, '@@') then
        n = n + 1
        local hunk = edit.hunks and edit.hunks[n]
        if hunk then
          local mark = entry.refused[hunk.n] and '[ ]' or '[x]'
          hunk_lines[#lines + 1] = hunk.n
          line = mark .. ' hunk ' .. hunk.n .. '  ' .. line
        end
      end
      lines[#lines + 1] = line
    end
  end
  if not a.command and not a.edits then
    add(vim.json.encode(a.arguments))
  end
  add(' ')
  local offers = {}
  for _, o in ipairs(outcomes) do
    if vim.list_contains(a.outcomes, o.outcome) then
      offers[#offers + 1] = o.chord .. ' ' .. o.says
    end
  end
  add(table.concat(offers, '   ') .. (next(hunk_lines) and '   <Space> take or refuse a hunk' or '') .. '   q hide')
  return lines, hunk_lines
end

local function close_float()
  if float.win and vim.api.nvim_win_is_valid(float.win) then
    vim.api.nvim_win_close(float.win, true)
  end
  float.win = nil
end

local highlight = vim.api.nvim_create_namespace('agent-ls-approval')

local function paint(bufnr, lines)
  vim.api.nvim_buf_clear_namespace(bufnr, highlight, 0, -1)
  for i, line in ipairs(lines) do
    local group = (i == 1 and 'Title')
      or (vim.startswith(line, '+') and 'Added')
      or (vim.startswith(line, '-') and 'Removed')
      or (line:match('^%[.%] hunk') and 'Changed')
      or (vim.startswith(line, '$ ') and 'Statement')
    if group then
      vim.api.nvim_buf_set_extmark(bufnr, highlight, i - 1, 0, { end_col = #line, hl_group = group })
    end
  end
end

local function draw()
  local entry = queue[1]
  if not entry then
    return close_float()
  end
  if not (float.bufnr and vim.api.nvim_buf_is_valid(float.bufnr)) then
    float.bufnr = vim.api.nvim_create_buf(false, true)
    vim.bo[float.bufnr].bufhidden = 'hide'
    vim.bo[float.bufnr].filetype = 'agent-ls-approval'
    M.keys(float.bufnr)
  end
  local lines, hunk_lines = M.render(entry)
  float.hunk_lines = hunk_lines
  vim.bo[float.bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(float.bufnr, 0, -1, false, lines)
  vim.bo[float.bufnr].modifiable = false
  paint(float.bufnr, lines)
  local width, height = 40, math.min(#lines, math.max(5, vim.o.lines - 6))
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line) + 1)
  end
  width = math.min(width, vim.o.columns - 4)
  local title = #queue > 1 and (' approval 1 of %d '):format(#queue) or ' approval '
  local config = {
    relative = 'editor',
    width = width,
    height = height,
    row = math.max(0, vim.o.lines - height - 4),
    col = math.max(0, vim.o.columns - width - 2),
    border = 'rounded',
    title = title,
    footer = ' :Agent approve puts the cursor here ',
    style = 'minimal',
  }
  if float.win and vim.api.nvim_win_is_valid(float.win) then
    vim.api.nvim_win_set_config(float.win, config)
  else
    float.win = vim.api.nvim_open_win(float.bufnr, false, config)
    vim.wo[float.win].wrap = true
  end
end

--- Takes an answer for the first open approval.
--- @param word string "once", "session", "always" or "deny"
--- @param feedback string?
--- @param expected string? the id of the approval that the user was looking at
function M.answer(word, feedback, expected)
  local entry = queue[1]
  if not entry then
    return require('agent-ls.client').complain('no approval is open')
  end
  if expected and entry.approval.id ~= expected then
    return require('agent-ls.client').complain('another approval is shown now; look at it first')
  end
  for _, o in ipairs(outcomes) do
    if o.word == word and vim.list_contains(entry.approval.outcomes, o.outcome) then
      local answer = { outcome = o.outcome }
      if feedback and feedback ~= '' then
        answer.feedback = feedback
      end
      if o.outcome ~= 'deny' then
        answer.hunks = M.accepted(entry)
      end
      return M.finish(entry, answer)
    end
  end
  require('agent-ls.client').complain(
    ('%q cannot be answered here; it is one of: %s'):format(word, table.concat(M.words(), ', '))
  )
end

--- The hunks that were not refused, nil where none was.
function M.accepted(entry)
  if not next(entry.refused) then
    return nil
  end
  local taken = {}
  for _, edit in ipairs(entry.approval.edits or {}) do
    for _, hunk in ipairs(edit.hunks or {}) do
      if not entry.refused[hunk.n] then
        taken[#taken + 1] = hunk.n
      end
    end
  end
  return taken
end

--- Closes an entry, wherever in the queue it is, and hands over its answer.
function M.finish(entry, answer)
  for i, open in ipairs(queue) do
    if open == entry then
      table.remove(queue, i)
      break
    end
  end
  draw()
  vim.cmd.redrawstatus()
  if answer then
    entry.respond(answer)
  end
end

--- Puts the cursor into the float. For a moment it takes no key, so that what was typed for
--- somewhere else does not land here.
function M.focus()
  if not queue[1] then
    return require('agent-ls.client').complain('no approval is open')
  end
  draw()
  vim.cmd.stopinsert()
  vim.api.nvim_set_current_win(float.win)
  float.focused_at = vim.uv.hrtime()
end

function M.keys(bufnr)
  local function guarded(action)
    return function()
      local since = (vim.uv.hrtime() - float.focused_at) / 1e6
      if since < require('agent-ls').options.focus_guard_ms then
        return
      end
      action()
    end
  end
  local function map(lhs, action, desc)
    vim.keymap.set('n', lhs, action, { buffer = bufnr, nowait = true, desc = desc })
  end
  for _, o in ipairs(outcomes) do
    map(
      o.chord,
      guarded(function()
        local shown = queue[1] and queue[1].approval.id
        M.answer(o.word, nil, shown)
      end),
      'agent-ls: ' .. o.says
    )
  end
  map(
    '<Space>',
    guarded(function()
      local row = vim.api.nvim_win_get_cursor(0)[1]
      for at = row, 1, -1 do
        local n = float.hunk_lines[at]
        if n and queue[1] then
          queue[1].refused[n] = not queue[1].refused[n] or nil
          draw()
          return vim.api.nvim_win_set_cursor(0, { row, 0 })
        end
      end
    end),
    'agent-ls: take or refuse this hunk'
  )
  map('q', close_float, 'agent-ls: hide; the approval stays open')
end

local function enqueue(approval, client_id, respond)
  local entry = { approval = approval, client_id = client_id, respond = respond, refused = {} }
  queue[#queue + 1] = entry
  draw()
  vim.cmd.redrawstatus()
  return entry
end

--- Answers the server's request, whenever the user does. Must run in a coroutine.
--- @param approval table
--- @param client_id integer
--- @return table answer
function M.ask(approval, client_id)
  return require('agent-ls.client').await(function(respond)
    enqueue(approval, client_id, respond)
  end)
end

--- Shows an approval of an earlier connection again; the answer goes by `agent/resolve`.
function M.again(approval, client_id)
  for _, open in ipairs(queue) do
    if open.approval.id == approval.id then
      return
    end
  end
  enqueue(approval, client_id, function(answer)
    answer.id = approval.id
    require('agent-ls.client').resolve(client_id, answer)
  end)
end

--- The server says that one is settled, here or elsewhere.
--- @param resolved { id: string, outcome: string, by: string }
function M.resolved(resolved)
  for _, entry in ipairs(queue) do
    if entry.approval.id == resolved.id then
      -- The server has its answer; ours ends the request and counts for nothing.
      M.finish(entry, { outcome = 'deny', feedback = 'settled elsewhere' })
      return
    end
  end
end

--- The server is gone: what it asked is not open here any more.
--- @param client_id integer
function M.forget(client_id)
  for i = #queue, 1, -1 do
    if queue[i].client_id == client_id then
      table.remove(queue, i)
    end
  end
  draw()
end

return M
