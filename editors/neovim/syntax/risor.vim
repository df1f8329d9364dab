" Risor, the language of hook scripts.
if exists('b:current_syntax')
  finish
endif

syntax keyword risorKeyword func return if else for range switch case default break continue var const import from as defer in
syntax keyword risorUnavailable go spawn chan
syntax keyword risorConstant nil true false
syntax match risorNumber /\v<(0x\x+|0b[01]+|\d+(\.\d+)?)>/
syntax match risorOperator /:=\|[-+*\/%=<>!&|?^]\+/
syntax match risorFunction /\<\h\w*\ze\s*(/
syntax keyword risorModule hook shell glob strings strconv regexp json math base64 time filepath text diff ctx
syntax region risorString start=/"/ skip=/\\./ end=/"/ oneline contains=risorEscape
syntax region risorRawString start=/`/ end=/`/
syntax region risorTemplate start=/'/ skip=/\\./ end=/'/ contains=risorEscape,risorHole
syntax region risorHole matchgroup=Special start=/{/ end=/}/ contained contains=TOP
syntax match risorEscape /\\\(["'nrt\\abfve]\|x\x\{2}\|u\x\{4}\|U\x\{8}\)/ contained
syntax match risorComment /\/\/.*$/ contains=@Spell
syntax match risorComment /#.*$/ contains=@Spell
syntax region risorComment start=/\/\*/ end=/\*\// contains=@Spell

highlight default link risorKeyword Keyword
highlight default link risorUnavailable Error
highlight default link risorConstant Constant
highlight default link risorNumber Number
highlight default link risorOperator Operator
highlight default link risorFunction Function
highlight default link risorModule Identifier
highlight default link risorString String
highlight default link risorRawString String
highlight default link risorTemplate String
highlight default link risorEscape SpecialChar
highlight default link risorComment Comment

let b:current_syntax = 'risor'
