package contract

import "slices"

// Values is a set of kinds of script values, as Risor's type() tells them
// apart. Scripts have more kinds than ctx and answers can hold.
type Values uint32

const (
	NilValue Values = 1 << iota
	BoolValue
	IntValue
	FloatValue
	ByteValue
	StringValue
	ListValue
	MapValue
	SetValue
	BytesValue  // byte_slice
	BufferValue // buffer
	FloatsValue // float_slice
	TimeValue
	RegexpValue
	ErrorValue
	FunctionValue // functions of the script, built-in ones and partials
	ModuleValue
	IteratorValue // range and iter()

	NoValues    Values = 0
	AnyValue           = IteratorValue<<1 - 1
	TextValue          = StringValue | BytesValue | BufferValue // what Risor takes for a string
	WholeValue         = IntValue | ByteValue                   // what it takes for an integer
	NumberValue        = WholeValue | FloatValue
)

var valueNames = []struct {
	v    Values
	name string
}{
	{NilValue, "nil"}, {BoolValue, "bool"}, {IntValue, "int"}, {FloatValue, "float"}, {ByteValue, "byte"},
	{StringValue, "string"}, {ListValue, "list"}, {MapValue, "map"}, {SetValue, "set"}, {BytesValue, "byte_slice"},
	{BufferValue, "buffer"}, {FloatsValue, "float_slice"}, {TimeValue, "time"}, {RegexpValue, "regexp"},
	{ErrorValue, "error"}, {FunctionValue, "function"}, {ModuleValue, "module"}, {IteratorValue, "iterator"},
}

// Names lists the kinds in the set.
func (v Values) Names() []string {
	var names []string
	for _, n := range valueNames {
		if v&n.v != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// String lists the kinds for a sentence: `int or byte`, `any`.
func (v Values) String() string {
	switch v {
	case AnyValue:
		return "any"
	case TextValue:
		return "string"
	case WholeValue:
		return "int"
	case NumberValue:
		return "number"
	}
	return enumerate(v.Names(), "or")
}

// Has says whether every kind of w is in the set.
func (v Values) Has(w Values) bool { return v&w == w }

// Param is one parameter of a library function.
type Param struct {
	Name    string
	Accepts Values // of a value of another kind the function throws
}

// Function is a function of the script library.
type Function struct {
	Name   string
	Params []Param
	Min    int // arguments that must be given
	Max    int // arguments that may be given; Unlimited for no limit
	Result Values
	// Shape refines Result where it is plain data of a known shape.
	Shape *Type
	// Like says that the result is of the same type as the argument with that
	// number, from 1, or as the receiver of a method, 0; -1 for neither.
	Like int
	Doc  string // one line
	// Example is a whole script that is right and uses the function, for those
	// that need more than their line; "" for none.
	Example string
	// Never is set when the function throws whatever it is given.
	Never bool
}

// Unlimited is Function.Max for functions that take any number of arguments.
const Unlimited = 1 << 16

// Module is a module of the script library, or the methods of a kind of value.
type Module struct {
	Name      string
	Doc       string
	Functions []Function
	Constants []Constant
	// Call is set when the module itself can be called, as regexp can.
	Call *Function
}

// Constant is a member of a module that is no function.
type Constant struct {
	Name  string
	Value Values
	Doc   string
}

// Absent is a name that Risor has elsewhere and that hooks do not have.
type Absent struct {
	Name string
	Why  string // one clause: `hooks have no file system`
}

// ScriptLibrary is all that a script finds without defining it.
type ScriptLibrary struct {
	Functions []Function
	Modules   []Module
	Methods   []Module // by the kind of their receiver: "list", "string"
	Absent    []Absent
}

var library = &ScriptLibrary{
	Functions: builtins,
	Modules:   slices.Concat(ownModules, risorModules),
	Methods:   methods,
	Absent:    absent,
}

// Library gives the table of what scripts have. It is shared: do not change it.
func Library() *ScriptLibrary { return library }

// Function gives the built-in function with that name, nil for none.
func (l *ScriptLibrary) Function(name string) *Function { return functionIn(l.Functions, name) }

// Module gives the module with that name, nil for none.
func (l *ScriptLibrary) Module(name string) *Module { return moduleIn(l.Modules, name) }

// MethodsOf gives the methods of values of one kind, nil for none.
func (l *ScriptLibrary) MethodsOf(v Values) *Module {
	names := v.Names()
	if len(names) != 1 {
		return nil
	}
	return moduleIn(l.Methods, names[0])
}

// AbsentName says why a name of Risor's is not there; ok is false when Risor
// has no such name either.
func (l *ScriptLibrary) AbsentName(name string) (why string, ok bool) {
	for _, a := range l.Absent {
		if a.Name == name {
			return a.Why, true
		}
	}
	return "", false
}

// Names lists every name that a script finds defined, in the table's order.
func (l *ScriptLibrary) Names() []string {
	var names []string
	for _, f := range l.Functions {
		names = append(names, f.Name)
	}
	for _, m := range l.Modules {
		names = append(names, m.Name)
	}
	return names
}

// Function gives the module's function with that name, nil for none.
func (m *Module) Function(name string) *Function { return functionIn(m.Functions, name) }

// Constant gives the module's constant with that name, nil for none.
func (m *Module) Constant(name string) *Constant {
	for i := range m.Constants {
		if m.Constants[i].Name == name {
			return &m.Constants[i]
		}
	}
	return nil
}

// Members lists the names that the module has.
func (m *Module) Members() []string {
	var names []string
	for _, f := range m.Functions {
		names = append(names, f.Name)
	}
	for _, c := range m.Constants {
		names = append(names, c.Name)
	}
	return names
}

// Signature writes the function as documentation shows it:
// `split(s, sep) list of string`.
func (f *Function) Signature() string {
	s := f.Name + "("
	for i, p := range f.Params {
		if i > 0 {
			s += ", "
		}
		s += p.Name
		if i >= f.Min && f.Max != Unlimited {
			s += "?"
		}
	}
	if f.Max == Unlimited {
		s += "..."
	}
	s += ")"
	if f.Shape != nil {
		return s + " " + f.Shape.String()
	}
	if f.Result != NoValues && f.Result != NilValue {
		s += " " + f.Result.String()
	}
	return s
}

// Takes says how many arguments the function takes: `1 or 2 arguments`.
func (f *Function) Takes() string {
	switch {
	case f.Max == Unlimited && f.Min == 0:
		return "any number of arguments"
	case f.Max == Unlimited:
		return "at least " + count(f.Min)
	case f.Min == f.Max && f.Min == 0:
		return "no arguments"
	case f.Min == f.Max:
		return count(f.Min)
	case f.Max == f.Min+1:
		return itoa(f.Min) + " or " + count(f.Max)
	default:
		return itoa(f.Min) + " to " + count(f.Max)
	}
}

func functionIn(list []Function, name string) *Function {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

func moduleIn(list []Module, name string) *Module {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}
