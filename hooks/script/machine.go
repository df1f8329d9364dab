package script

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"unsafe"

	modules "github.com/risor-io/risor/importer"
	"github.com/risor-io/risor/object"
	"github.com/risor-io/risor/vm"
)

// arena is the memory of one of Risor's machines, nearly 300 KB, used for one
// firing after the other. A machine made anew spends four fifths of a firing on
// getting and giving back that memory. The engine has no way to put a machine
// back, so this clears all of it, byte by byte, and sets the few fields that
// vm.New sets; nothing can be left over because nothing is left. It knows the
// fields of the one version that go.mod pins, and where they are not as it
// knows them every firing gets a machine of its own.
type arena struct {
	machine *vm.VirtualMachine
	clean   bool
	loaded  reflect.Type // of the field loadedCode, which cannot be named here
	at      map[string]uintptr
}

// layout are the fields of the engine's machine in its version 1.8.1.
const layout = `ip int, sp int, fp int, halt int32, activeFrame *vm.frame, activeCode *vm.code, main *compiler.Code, importer importer.Importer, os os.OS, ` +
	`modules map[string]*object.Module, inputGlobals map[string]interface {}, globals map[string]object.Object, loadedCode map[*compiler.Code]*vm.code, ` +
	`running bool, concAllowed bool, runMutex sync.Mutex, cloneMutex sync.Mutex, tmp [256]object.Object, stack [1024]object.Object, frames [1024]vm.frame`

// newArena gives nil where the engine's machine is not the one that is known.
func newArena() *arena {
	t := reflect.TypeFor[vm.VirtualMachine]()
	a := &arena{at: map[string]uintptr{}}
	fields := make([]string, t.NumField())
	for i := range fields {
		f := t.Field(i)
		fields[i] = fmt.Sprintf("%s %s", f.Name, f.Type)
		a.at[f.Name] = f.Offset
		if f.Name == "loadedCode" {
			a.loaded = f.Type
		}
	}
	if strings.Join(fields, ", ") != layout {
		return nil
	}
	return a
}

// take gives a machine that is as vm.New would make it.
func (a *arena) take(p *program, from modules.Importer) *vm.VirtualMachine {
	if a == nil {
		return vm.New(p.main, vm.WithGlobals(p.globals), vm.WithImporter(from))
	}
	if a.machine == nil {
		a.machine, a.clean = new(vm.VirtualMachine), true
	}
	a.clear()
	a.clean = false
	set(a, "sp", -1)
	set(a, "main", p.main)
	set(a, "importer", from)
	set(a, "modules", maps.Clone(p.modules))
	set(a, "inputGlobals", p.globals)
	set(a, "globals", p.objects)
	reflect.NewAt(a.loaded, a.field("loadedCode")).Elem().Set(reflect.MakeMap(a.loaded))
	return a.machine
}

// clear takes everything out of the machine. It is called when nobody waits.
func (a *arena) clear() {
	if a == nil || a.clean || a.machine == nil {
		return
	}
	*a.machine = vm.VirtualMachine{}
	a.clean = true
}

func (a *arena) field(name string) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(a.machine), a.at[name])
}

func set[T any](a *arena, name string, value T) { *(*T)(a.field(name)) = value }

// ready makes what a machine needs of the program and does not change.
func (p *program) ready() error {
	objects, err := object.AsObjects(p.globals)
	if err != nil {
		return fmt.Errorf("globals: %w", err)
	}
	p.objects, p.modules = objects, map[string]*object.Module{}
	for name, o := range objects {
		if m, ok := o.(*object.Module); ok {
			p.modules[name] = m
		}
	}
	return nil
}
