/* The part of an Array that every call goes through: its fields, and elementwise functions of small
 * arrays, which go straight to NumPy and back.
 *
 * Whatever is not the plain case (a large array, a pinned one, another type) is left to a function
 * of Python, which is given the same operands. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <stddef.h>
#include <structmember.h>

#define ENTRIES 128

typedef struct {
    PyObject_HEAD
    PyObject *memory; /* an ndarray; its numbers are not the array's while it is stale */
    PyObject *pin;
    PyObject *away; /* a dictionary of what is on backends, or NULL */
    PyObject *weakrefs;
    char shared;
    char stale;
} core_t;

typedef struct {
    PyObject *function; /* NumPy's */
    PyObject *slow;     /* ours, in Python */
    double limit;       /* arrays of this size and larger are for the slow way */
} entry_t;

static entry_t entries[ENTRIES];
static int used = 0;
/* the class of arrays; a subclass of ours that Python defines */
static PyTypeObject *array_type = NULL;
/* a function of Python that brings a stale array's values to the host */
static PyObject *fetch = NULL;

/* Take over a result of NumPy's: an array, or a scalar where the operands have no axes. */
static PyObject *
adopt(PyObject *result)
{
    if (result == NULL) {
        return NULL;
    }
    if (!PyArray_CheckExact(result)) {
        PyObject *array = PyArray_FROM_O(result);
        Py_DECREF(result);
        if (array == NULL) {
            return NULL;
        }
        result = array;
    }
    core_t *self = (core_t *)array_type->tp_alloc(array_type, 0);
    if (self == NULL) {
        Py_DECREF(result);
        return NULL;
    }
    /* the other fields are zero */
    self->memory = result;
    return (PyObject *)self;
}

/* The operand as NumPy takes it, borrowed; NULL if it is not the plain case. */
static inline PyObject *
plain(PyObject *x, double limit)
{
    if (Py_TYPE(x) == array_type) {
        core_t *core = (core_t *)x;
        if ((core->pin != NULL && core->pin != Py_None) || core->memory == NULL || core->stale ||
            (double)PyArray_SIZE((PyArrayObject *)core->memory) >= limit) {
            return NULL;
        }
        return core->memory;
    }
    if (PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyBool_Check(x) || PyComplex_CheckExact(x)) {
        return x;
    }
    return NULL;
}

static PyObject *
call_binary(int number, PyObject *x, PyObject *y)
{
    const entry_t *entry = &entries[number];
    PyObject *a = plain(x, entry->limit), *b = a == NULL ? NULL : plain(y, entry->limit);
    if (b != NULL && (a != x || b != y)) {
        PyObject *operands[2] = {a, b};
        /* the call holds its operands: another thread may give an Array other values meanwhile */
        Py_INCREF(a);
        Py_INCREF(b);
        PyObject *result = PyObject_Vectorcall(entry->function, operands, 2, NULL);
        Py_DECREF(a);
        Py_DECREF(b);
        return adopt(result);
    }
    PyObject *operands[2] = {x, y};
    return PyObject_Vectorcall(entry->slow, operands, 2, NULL);
}

static PyObject *
call_unary(int number, PyObject *x)
{
    const entry_t *entry = &entries[number];
    PyObject *a = Py_TYPE(x) == array_type ? plain(x, entry->limit) : NULL;
    if (a != NULL) {
        Py_INCREF(a);
        PyObject *result = PyObject_Vectorcall(entry->function, &a, 1, NULL);
        Py_DECREF(a);
        return adopt(result);
    }
    return PyObject_Vectorcall(entry->slow, &x, 1, NULL);
}

/* --- functions of the namespace */

static int
entry_number(PyObject *number)
{
    long n = PyLong_AsLong(number);
    if (n == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (n < 0 || n >= used) {
        PyErr_Format(PyExc_IndexError, "there is no entry %ld", n);
        return -1;
    }
    return (int)n;
}

static PyObject *
binary(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 3) {
        PyErr_SetString(PyExc_TypeError, "binary() takes an entry and two operands");
        return NULL;
    }
    int number = entry_number(args[0]);
    return number < 0 ? NULL : call_binary(number, args[1], args[2]);
}

static PyObject *
unary(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2) {
        PyErr_SetString(PyExc_TypeError, "unary() takes an entry and an operand");
        return NULL;
    }
    int number = entry_number(args[0]);
    return number < 0 ? NULL : call_unary(number, args[1]);
}

static PyObject *
add_entry(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *slow;
    if (!PyArg_ParseTuple(args, "OO:add_entry", &function, &slow)) {
        return NULL;
    }
    if (used == ENTRIES) {
        PyErr_SetString(PyExc_RuntimeError, "no entry is left");
        return NULL;
    }
    entries[used].function = Py_NewRef(function);
    entries[used].slow = Py_NewRef(slow);
    entries[used].limit = 0.0;
    return PyLong_FromLong(used++);
}

static PyObject *
set_limits(PyObject *Py_UNUSED(module), PyObject *values)
{
    PyArrayObject *array = (PyArrayObject *)PyArray_FROMANY(
        values, NPY_DOUBLE, 1, 1, NPY_ARRAY_IN_ARRAY);
    if (array == NULL) {
        return NULL;
    }
    npy_intp n = PyArray_DIM(array, 0);
    if (n != used) {
        Py_DECREF(array);
        return PyErr_Format(PyExc_ValueError, "%zd limits for %d entries", (Py_ssize_t)n, used);
    }
    for (npy_intp i = 0; i < n; i++) {
        entries[i].limit = ((const double *)PyArray_DATA(array))[i];
    }
    Py_DECREF(array);
    Py_RETURN_NONE;
}

/* --- the type */

static PyObject *
core_get_host(PyObject *object, void *Py_UNUSED(closure))
{
    core_t *self = (core_t *)object;
    if (self->stale) {
        PyObject *done = PyObject_CallOneArg(fetch, object);
        if (done == NULL) {
            return NULL;
        }
        Py_DECREF(done);
    }
    if (self->memory == NULL) {
        PyErr_SetString(PyExc_AttributeError, "_host");
        return NULL;
    }
    return Py_NewRef(self->memory);
}

static int
core_set_host(PyObject *object, PyObject *value, void *Py_UNUSED(closure))
{
    core_t *self = (core_t *)object;
    if (value == NULL || !PyArray_CheckExact(value)) {
        PyErr_SetString(PyExc_TypeError, "_host is an ndarray");
        return -1;
    }
    Py_INCREF(value);
    Py_XSETREF(self->memory, value);
    self->stale = 0;
    Py_CLEAR(self->away);
    return 0;
}

static PyGetSetDef properties[] = {
    {"_host", core_get_host, core_set_host,
     "The values on the host, brought there if need be; set, they are the only ones.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"_memory", T_OBJECT_EX, offsetof(core_t, memory), 0, "the memory on the host"},
    {"_pin", T_OBJECT, offsetof(core_t, pin), 0, "the device it is pinned to, or None"},
    {"_away", T_OBJECT, offsetof(core_t, away), 0, "the values on backends by name, or None"},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(core_t, weakrefs), READONLY, NULL},
    {"_shared", T_BOOL, offsetof(core_t, shared), 0, "whether the memory may be another's too"},
    {"_stale", T_BOOL, offsetof(core_t, stale), 0, "whether the memory has not the values"},
    {NULL, 0, 0, 0, NULL},
};

static int
core_traverse(PyObject *object, visitproc visit, void *arg)
{
    core_t *self = (core_t *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->memory);
    Py_VISIT(self->pin);
    Py_VISIT(self->away);
    return 0;
}

static int
core_clear(PyObject *object)
{
    core_t *self = (core_t *)object;
    Py_CLEAR(self->memory);
    Py_CLEAR(self->pin);
    Py_CLEAR(self->away);
    return 0;
}

static void
core_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (((core_t *)object)->weakrefs != NULL) {
        PyObject_ClearWeakRefs(object);
    }
    core_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

/* --- operators: each calls an entry, which Python names once the functions are there */

enum operator {
    ADD, SUBTRACT, MULTIPLY, DIVIDE, FLOOR_DIVIDE, REMAINDER, MATMUL, AND, OR, XOR, LEFT_SHIFT,
    RIGHT_SHIFT, POWER, LESS, LESS_EQUAL, EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, NEGATIVE,
    POSITIVE, ABSOLUTE, INVERT, OPERATORS
};
static int entry_of[OPERATORS];

#define BINARY(name, which)                                                                       \
    static PyObject *name(PyObject *x, PyObject *y) { return call_binary(entry_of[which], x, y); }
#define UNARY(name, which)                                                                        \
    static PyObject *name(PyObject *x) { return call_unary(entry_of[which], x); }
BINARY(core_add, ADD)
BINARY(core_subtract, SUBTRACT)
BINARY(core_multiply, MULTIPLY)
BINARY(core_divide, DIVIDE)
BINARY(core_floor_divide, FLOOR_DIVIDE)
BINARY(core_remainder, REMAINDER)
BINARY(core_matmul, MATMUL)
BINARY(core_and, AND)
BINARY(core_or, OR)
BINARY(core_xor, XOR)
BINARY(core_left_shift, LEFT_SHIFT)
BINARY(core_right_shift, RIGHT_SHIFT)
UNARY(core_negative, NEGATIVE)
UNARY(core_positive, POSITIVE)
UNARY(core_absolute, ABSOLUTE)
UNARY(core_invert, INVERT)

static PyObject *
core_power(PyObject *x, PyObject *y, PyObject *modulus)
{
    if (modulus != Py_None) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return call_binary(entry_of[POWER], x, y);
}

static PyObject *
core_compare(PyObject *x, PyObject *y, int how)
{
    static const enum operator which[] = {LESS, LESS_EQUAL, EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL};
    return call_binary(entry_of[which[how]], x, y);
}

static PyType_Slot core_slots[] = {
    {Py_tp_doc, "The fields of an array, and its operators."},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {Py_tp_traverse, core_traverse},
    {Py_tp_clear, core_clear},
    {Py_tp_dealloc, core_dealloc},
    {Py_tp_richcompare, core_compare},
    {Py_nb_add, core_add},
    {Py_nb_subtract, core_subtract},
    {Py_nb_multiply, core_multiply},
    {Py_nb_true_divide, core_divide},
    {Py_nb_floor_divide, core_floor_divide},
    {Py_nb_remainder, core_remainder},
    {Py_nb_matrix_multiply, core_matmul},
    {Py_nb_and, core_and},
    {Py_nb_or, core_or},
    {Py_nb_xor, core_xor},
    {Py_nb_lshift, core_left_shift},
    {Py_nb_rshift, core_right_shift},
    {Py_nb_power, core_power},
    {Py_nb_negative, core_negative},
    {Py_nb_positive, core_positive},
    {Py_nb_absolute, core_absolute},
    {Py_nb_invert, core_invert},
    {0, NULL},
};

static PyType_Spec core_spec = {
    .name = "dispatch_xp._array_core.Core",
    .basicsize = sizeof(core_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = core_slots,
};

static PyTypeObject *core_type = NULL;

static PyObject *
set_type(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *type, *numbers, *function;
    if (!PyArg_ParseTuple(args, "O!O!O:set_type", &PyType_Type, &type, &PyTuple_Type, &numbers,
                          &function)) {
        return NULL;
    }
    if (!PyType_IsSubtype((PyTypeObject *)type, core_type)) {
        return PyErr_Format(PyExc_TypeError, "%R is no subclass of Core", type);
    }
    if (PyTuple_GET_SIZE(numbers) != OPERATORS) {
        return PyErr_Format(PyExc_ValueError, "%d entries are needed", (int)OPERATORS);
    }
    for (int k = 0; k < OPERATORS; k++) {
        entry_of[k] = entry_number(PyTuple_GET_ITEM(numbers, k));
        if (entry_of[k] < 0) {
            return NULL;
        }
    }
    array_type = (PyTypeObject *)Py_NewRef(type);
    fetch = Py_NewRef(function);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"binary", (PyCFunction)(void (*)(void))binary, METH_FASTCALL,
     "binary(entry, x1, x2, /)\n--\n\nCall an entry with two operands."},
    {"unary", (PyCFunction)(void (*)(void))unary, METH_FASTCALL,
     "unary(entry, x, /)\n--\n\nCall an entry with one operand."},
    {"add_entry", add_entry, METH_VARARGS,
     "add_entry(function, slow, /)\n--\n\nMake an entry of NumPy's function and ours; its number."},
    {"set_limits", set_limits, METH_O,
     "set_limits(values, /)\n--\n\nSet the sizes from which ours are called, entry by entry."},
    {"set_type", set_type, METH_VARARGS,
     "set_type(type, entries, fetch, /)\n--\n\nSet the class of arrays, the entries of its "
     "operators, and what brings values to the host."},
    {NULL, NULL, 0, NULL},
};


static int
execute(PyObject *module)
{
    import_array1(-1);
    core_type = (PyTypeObject *)PyType_FromSpec(&core_spec);
    if (core_type == NULL) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "Core", (PyObject *)core_type);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_mod_multiple_interpreters
    /* entries belong to the process */
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    /* no Py_mod_gil: entries are guarded by the GIL, so a free-threaded build turns it back on */
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "dispatch_xp._array_core",
    .m_doc = "The compiled part of Array.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC
PyInit__array_core(void)
{
    return PyModuleDef_Init(&definition);
}
