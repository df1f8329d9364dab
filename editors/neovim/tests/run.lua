-- nvim -l tests/run.lua: runs tests/*_spec.lua against the binary that AGENT_LS names.
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
package.path = here .. '/?.lua;' .. package.path

local passed, failed = 0, 0
local only = vim.env.ONLY

--- Runs one test; it fails by an error.
function _G.test(name, body)
  if only and not name:find(only, 1, true) then
    return
  end
  local ok, err = xpcall(body, debug.traceback)
  if ok then
    passed = passed + 1
    io.stdout:write('ok    ' .. name .. '\n')
  else
    failed = failed + 1
    io.stdout:write('FAIL  ' .. name .. '\n' .. tostring(err) .. '\n')
  end
end

--- Fails unless `text` has `part`.
function _G.has(text, part, what)
  if not text:find(part, 1, true) then
    error(('%s: %q is not in:\n%s'):format(what or 'text', part, text), 2)
  end
end

--- Fails unless the two are equal.
function _G.equal(got, want, what)
  if not vim.deep_equal(got, want) then
    error(('%s: got %s, want %s'):format(what or 'value', vim.inspect(got), vim.inspect(want)), 2)
  end
end

for _, spec in ipairs(vim.fn.sort(vim.fn.glob(here .. '/*_spec.lua', true, true))) do
  dofile(spec)
end
io.stdout:write(('%d passed, %d failed\n'):format(passed, failed))
os.exit(failed == 0 and passed > 0 and 0 or 1)
