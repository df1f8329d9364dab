--- Text from models, tools and files, made harmless before it is drawn.
local M = {}

-- Bidirectional controls, zero-width characters and line separators, as UTF-8.
local hidden = {
  '\226\128\139',
  '\226\128\140',
  '\226\128\142',
  '\226\128\143',
  '\226\128\168',
  '\226\128\169',
  '\226\128\170',
  '\226\128\171',
  '\226\128\172',
  '\226\128\173',
  '\226\128\174',
  '\226\129\160',
  '\226\129\166',
  '\226\129\167',
  '\226\129\168',
  '\226\129\169',
  '\239\187\191',
}

--- Makes control and bidirectional characters visible; newline and tab stay.
--- @param s string?
--- @return string
function M.visible(s)
  s = (s or ''):gsub('[%z\1-\8\11-\31\127]', function(c)
    return ('\\u{%04x}'):format(c:byte())
  end)
  for _, bytes in ipairs(hidden) do
    s = s:gsub(bytes, function(c)
      return ('\\u{%04x}'):format(vim.fn.char2nr(c))
    end)
  end
  return s
end

--- Splits visible text into lines, without a last empty one.
--- @param s string?
--- @return string[]
function M.lines(s)
  local lines = vim.split(M.visible(s), '\n', { plain = true })
  if lines[#lines] == '' then
    lines[#lines] = nil
  end
  return lines
end

--- The file name of a URI, relative to the current folder where it is below it.
--- @param uri string
--- @return string
function M.file(uri)
  if not vim.startswith(uri, 'file:') then
    return uri
  end
  return vim.fn.fnamemodify(vim.uri_to_fname(uri), ':.')
end

return M
