package syntax_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/risor-io/risor/parser"

	"agent-ls/hooks/syntax"
)

// risorAccepts asks Risor's own parser. Line ends are made LF first, as they
// are at run time.
func risorAccepts(text string) (ok bool, why string) {
	defer func() {
		if r := recover(); r != nil {
			ok, why = false, "panic"
		}
	}()
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := parser.Parse(ctx, text)
	if err != nil {
		return false, err.Error()
	}
	return true, ""
}

func accepts(text string) (bool, string) {
	t := syntax.Parse([]byte(text))
	if len(t.Errors) > 0 {
		return false, t.Errors[0].Message
	}
	return true, ""
}

// Programs on which both parsers must agree, one a line; \n is a line end.
func TestAgreesWithRisor(t *testing.T) {
	for _, line := range strings.Split(strings.TrimSpace(agreement), "\n") {
		src := strings.ReplaceAll(line, `⏎`, "\n")
		want, why := risorAccepts(src)
		if got, msg := accepts(src); got != want {
			t.Errorf("%s: accepted %v (%s), Risor %v (%s)", line, got, msg, want, why)
		}
	}
}

const agreement = "" +
	`
x := 1
x, y := [1, 2]
x, y = [1, 2]
x, y
var x = 1
var x, y = [1, 2]
var x
const x = 1
const x, y = 1
x = 1
x = y = 1
x := y := 1
x += 1; y -= 2; z *= 3; w /= 4
x %= 2
a.b = 1
a.b += 1
a.b.c = 1
a[0] = 1
a[0] += 1
f() = 1
(x) = 1
(a[0]) = 1
1 + x = 3
x && y = 3
!x = 3
-x[0] = 3
x ? y : z = 3
x++
x--
x++; y
x++ y
a.b++
y := x++
return x++
f()
f(1, 2)
f(1, 2,)
f(⏎1,⏎2⏎)
f(⏎)
f(1⏎,2)
f(1 2)
f(,)
[1, 2, 3]
[1, 2,]
[⏎1,⏎2,⏎]
[⏎]
[1⏎,2]
{}
{⏎}
{a: 1}
{a: 1, b: 2}
{a: 1, b: 2,}
{⏎a: 1,⏎b: 2⏎}
{⏎a: 1,⏎b: 2,⏎}
{a: 1⏎, b: 2}
{"a": 1}
{a}
{a, b}
{a, b,}
{a,⏎b}
{a,⏎b⏎}
{a,⏎b,⏎}
{a⏎}
{a: 1, b}
{a, b: 1}
{1, 2}
x[1]
x[1:2]
x[:2]
x[1:]
x[:]
x[]
x[1:2:3]
x[1 2]
x.y
x.y.z(1).w
x.⏎y
x⏎.y
x.
x.1
x.if
x.as
x as y
func() {}
func f() {}
func f(a) { return a }
func f(a, b) { return a + b }
func f(a b) { }
func f(a,) { }
func f(,a) { }
func f(a,,b) { }
func f(a=1) { }
func f(a="x", b=nil) { }
func f(⏎a) { }
func f(a⏎) { }
func f { }
func f()
func f()⏎{ }
func f() { return }
func f() { return; }
func f() { return⏎}
func f() { a; b }
func f() { ; }
func f() { a;; b }
func f() {⏎a⏎⏎b⏎}
func() { }()
func f() { }()
if x { }
if x { } else { }
if x { } else if y { } else { }
if x { }⏎else { }
if x⏎{ }
if (x) { }
if x { y } + 1
if x == {a: 1} { }
if { }
if x
if x { } else
if x { } else z
else { }
for { }
for { break }
for x { }
for x < 3 { }
for i := 0; i < 3; i++ { }
for i := 0; i < 3; i-- { }
for i := 0; i < 3; i += 1 { }
for i := 0; i < 3; f(i) { }
for ; i < 3; i++ { }
for ;; { }
for i := 0; ; i++ { }
for i := 0; i < 3; { }
for i := range x { }
for i, v := range x { }
for range x { }
for i = 0; i < 3; i++ { }
for i := x { }
for i := range x
for i := 0 i < 3; i++ { }
for var i = range x { }
for {} + 1
for x in y { }
for _, v := range {1, 2} { }
for _, v := range [1, 2] { }
switch x { }
switch x {⏎case 1:⏎f()⏎}
switch x {⏎case 1, 2:⏎f()⏎g()⏎default:⏎h()⏎}
switch x {⏎case 1:⏎case 2:⏎f()⏎}
switch x { case 1: f() case 2: g() default: h() }
switch x { case 1: f(); case 2: g(); default: h() }
switch x {⏎default:⏎f()⏎default:⏎g()⏎}
switch x {⏎f()⏎}
switch x⏎{ }
switch { case 1: f() }
switch x { case 1 f() }
switch x { case: f() }
x ? y : z
x ? 1 : 2
x ? -1 : y + 2
x ? (y) : z
x ? (y) + 1 : z
x ? y + 1 : z
x ? [1] : [2]
x ? [1] + [2] : z
x ? y
x ? y : (a ? b : c)
x ? y : a ? b : c
x ? -y : a ? b : c
x ? func() { return a ? b : c } : d
x ?⏎y : z
x | y
x | y | z
x |⏎y
x | f(1) | g
| x
x in y
x in y in z
!x in y
x not in y
x in⏎y
not x
x and y
range x
range range x
range {a: 1}
1 +⏎2
1⏎+ 2
1 + + 2
1 + - 2
1 - -2
1--2
a <- b
a<-b
if x <-1 { }
x + a <- b
<- a
<- <- a
x := <- a
go f()
go f
go a.b()
go func() { }()
go 1
go f() + 1
defer f()
defer f().g
defer f().g()
import a
import "a"
import "a/b"
import "a/b" as c
import a as b
import "a b"
import "/a"
import "a/"
import "1a"
import 'a'
import
import a.b
from a import b
from a import b as c
from a import b, c
from a import (b, c)
from a import (⏎b,⏎c,⏎)
from a import (⏎b⏎)
from a.b import c
from "a/b" import c
from a b
from a import
from a.b.c import d as e, f
'a'
'a {x} b'
'{x}'
'{}'
'{ }'
'{x.y(1)["z"]}'
'{x y}'
'{x; y}'
'{x = 1}'
'{x := 1}'
'{x'
'x}'
'{x}}'
'{{x}}'
'{{x}} {y}'
'{ {a: 1} }'
'{ \'y\' }'
'{ "y" }'
'{ f("\'") }'
'\x7bx\x7d'
'{x ? y : z}'
'{return}'
"a"
"a\n\t\"\\"
"a\'"
'a\"'
"\q"
"\x4"
"\x41\u0041\U00000041\101\377"
"\400"
"\U80000000"
"\u12"
"a
'a
"a⏎"
` + "`a`\n`a⏎b`\n`a\n" + `
1
1.5
1.
1.x
.5
1e3
1.5e3
0x1f
0x
0xg
0x1x2
007
09
0
00
00.5
0.5
1_000
9223372036854775807
9223372036854775808
1..2
12abc
// a comment
x // a comment
# a comment
/* a */
/* a */ x
x /* a */ + y
/* a */ // b
/* a */ /* b */
/* a */⏎// b
/*/ x
/**/ x
/* a⏎b */ x
x ~ y
x @ y
x ^ y
x \ y
x $ y
é := 1
x→y
x → y
x :=
x :=⏎1
x = ⏎
(x
x)
(⏎x)
(x⏎)
()
}
{
]
x y
x; y
x;
;
x;;
true false
nil
break
continue
return
return 1
func
struct
as
case 1:
var
a.b.c.d().e[0][1:2](3)(4)
f(func(x) { return x })
f(func(x) {⏎return x⏎})
x == y != z
a || b && c
a ** b ** c
a % b * c
a & b
a << 1 >> 2
a < b > c
x.y ? z : w
x := if a { 1 } else { 2 }
x := switch a {⏎case 1: 2⏎}
x := for { }
[if a { 1 }]
{a: func() { }}
{a: {b: {c: 1}}}
`

// Where ours is stricter, as the package says: none of these compiles, or
// does what it seems to.
const stricter = `
++
1++
a[0]++
for i, v, w := range x { }
f(for { })
f(x = 1)
{1: 2}
func f(a=g()) { }
func f(a=1, b) { }
(⏎x)[y⏎]
x[⏎1]
{a: ⏎1}
for ; { }
/* no end
switch x {⏎default:⏎}
if {⏎a: 1} { }
`

func TestStricterThanRisor(t *testing.T) {
	for _, line := range strings.Split(strings.TrimSpace(stricter), "\n") {
		if ok, _ := accepts(strings.ReplaceAll(line, `⏎`, "\n")); ok {
			t.Errorf("%s: accepted, want an error", line)
		}
	}
	if ok, _ := accepts("x := 1\x00"); ok {
		t.Error("a NUL was accepted, want an error")
	}
}

// The cases that the project must get right are read as Risor reads them.
func TestCasesAgree(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "check", "testdata", "*.risor"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		want, why := risorAccepts(string(src))
		if got, msg := accepts(string(src)); got && !want {
			t.Errorf("%s: accepted %v (%s), Risor %v (%s)", f, got, msg, want, why)
		}
	}
}
