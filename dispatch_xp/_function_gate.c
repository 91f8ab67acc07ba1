/* What every door of a function does first, compiled: whether anything is active here, whether the
 * call is large enough for a look, and whether a decision to stay still stands. Such a call costs a
 * tenth of a microsecond; the others are for a handler in Python, which is given the same arguments.
 * Beneath NumPy's dispatcher the rest of the door is here too, up to the call of the function.
 *
 * The same in Python is `doors/handler.py`, and `doors/code.py` for the rest. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <math.h>
#include <stddef.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *path;
    PyObject *handle;  /* in Python */
    PyObject *current; /* the context variable */
    PyObject *process; /* has `default`, the state where nothing was said */
    PyObject *quiet;   /* the state in which nothing is routed */
    char tuples;       /* whether arrays come within tuples */
} gate_t;

static PyObject *name_default, *name_done, *name_enter, *name_exit, *name_finish, *name_left,
    *name_limits, *name_result, *name_standing;

/* The number of the arguments and keywords that `nargs` and `kwnames` describe. */
static inline Py_ssize_t
total(Py_ssize_t nargs, PyObject *kwnames)
{
    return nargs + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
}

/* Put what a decision depends on into a key from position `at` on; return the next position. */
static Py_ssize_t
put(PyObject *key, Py_ssize_t at, PyObject *x)
{
    if (PyArray_CheckExact(x)) {
        PyArrayObject *array = (PyArrayObject *)x;
        PyObject *shape = PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_DIMS(array));
        if (shape == NULL) {
            return -1;
        }
        PyTuple_SET_ITEM(key, at, shape);
        PyTuple_SET_ITEM(key, at + 1, Py_NewRef((PyObject *)PyArray_DESCR(array)));
        return at + 2;
    }
    int number = PyFloat_CheckExact(x) || PyComplex_CheckExact(x);
    PyTuple_SET_ITEM(key, at, Py_NewRef(number ? (PyObject *)Py_TYPE(x) : x));
    return at + 1;
}

/* What a decision depends on: arrays by shape and dtype, numbers by type, the rest by itself. */
static PyObject *
key_of(PyObject *path, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    Py_ssize_t n = total(nargs, kwnames), size = 1 + n + (n - nargs);
    for (Py_ssize_t i = 0; i < n; i++) {
        size += PyArray_CheckExact(args[i]);
    }
    PyObject *key = PyTuple_New(size);
    if (key == NULL) {
        return NULL;
    }
    PyTuple_SET_ITEM(key, 0, Py_NewRef(path));
    Py_ssize_t at = 1;
    for (Py_ssize_t i = 0; i < n && at > 0; i++) {
        if (i >= nargs) {
            PyTuple_SET_ITEM(key, at++, Py_NewRef(PyTuple_GET_ITEM(kwnames, i - nargs)));
        }
        at = put(key, at, args[i]);
    }
    if (at < 0) {
        Py_CLEAR(key);
    }
    return key;
}

/* The state that this context sees; NULL if there is none to ask, with or without an error. */
static PyObject *
state_of(gate_t *self)
{
    PyObject *state = NULL;
    if (PyContextVar_Get(self->current, NULL, &state) < 0) {
        return NULL;
    }
    if (state == Py_None) {
        Py_DECREF(state);
        state = PyObject_GetAttr(self->process, name_default);
    }
    if (state == Py_None || state == self->quiet) {
        Py_CLEAR(state);
    }
    return state;
}

/* 1 if an argument is large enough for a look, 0 if none is, -1 with an error. */
static int
is_large(gate_t *self, PyObject *state, PyObject *const *args, Py_ssize_t n, double *limit)
{
    PyObject *limits = PyObject_GetAttr(state, name_limits);
    if (limits == NULL) {
        return -1;
    }
    PyObject *value = PyDict_Check(limits) ? PyDict_GetItemWithError(limits, self->path) : NULL;
    /* not computed yet: in Python */
    *limit = value == NULL ? 0.0 : PyFloat_AsDouble(value);
    Py_DECREF(limits);
    if (PyErr_Occurred()) {
        return -1;
    }
    if (*limit == INFINITY) {
        return 0;
    }
    if (*limit <= 0.0) {
        return 1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (PyArray_CheckExact(args[i])
                ? (double)PyArray_SIZE((PyArrayObject *)args[i]) >= *limit
                : self->tuples && PyTuple_CheckExact(args[i])) {
            return 1;
        }
    }
    return 0;
}

/* Whether a decision to stay stands for one more call, which is counted; -1 with an error. */
static int
stands(gate_t *self, PyObject *state, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    int left = 0;
    PyObject *standing = PyObject_GetAttr(state, name_standing);
    if (standing == NULL) {
        return -1;
    }
    if (PyDict_CheckExact(standing) && PyDict_GET_SIZE(standing) > 0) {
        PyObject *key = key_of(self->path, args, nargs, kwnames);
        PyObject *seen = key == NULL ? NULL : PyDict_GetItemWithError(standing, key);
        Py_XINCREF(seen);
        Py_XDECREF(key);
        if (seen == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
            /* a list, which may hold anything */
            PyErr_Clear();
        }
        PyObject *number = seen == NULL ? NULL : PyObject_GetAttr(seen, name_left);
        long calls = number == NULL ? 0 : PyLong_AsLong(number);
        Py_XDECREF(number);
        if (calls > 0) {
            number = PyLong_FromLong(calls - 1);
            left = number != NULL && PyObject_SetAttr(seen, name_left, number) == 0;
            Py_XDECREF(number);
        }
        Py_XDECREF(seen);
    }
    Py_DECREF(standing);
    return PyErr_Occurred() ? -1 : left;
}

static PyObject *
gate_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    gate_t *self = (gate_t *)callable;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    PyObject *state = state_of(self);
    if (state == NULL) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    double limit;
    int looks = is_large(self, state, args, total(nargs, kwnames), &limit);
    /* without a limit everything is to be seen, or a decision is pinned: nothing stands */
    int stays = looks > 0 && limit > 0.0 ? stands(self, state, args, nargs, kwnames) : 0;
    Py_DECREF(state);
    if (looks < 0 || stays < 0) {
        return NULL;
    }
    if (looks && !stays) {
        return PyObject_Vectorcall(self->handle, args, nargsf, kwnames);
    }
    return Py_NewRef(Py_None);
}

static int
gate_traverse(PyObject *op, visitproc visit, void *arg)
{
    gate_t *self = (gate_t *)op;
    Py_VISIT(self->handle);
    Py_VISIT(self->current);
    Py_VISIT(self->process);
    Py_VISIT(self->quiet);
    return 0;
}

static void
gate_dealloc(PyObject *op)
{
    gate_t *self = (gate_t *)op;
    PyObject_GC_UnTrack(op);
    Py_CLEAR(self->path);
    Py_CLEAR(self->handle);
    Py_CLEAR(self->current);
    Py_CLEAR(self->process);
    Py_CLEAR(self->quiet);
    Py_TYPE(op)->tp_free(op);
}

static PyObject *
gate_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "handle", "current", "process", "quiet", "tuples", NULL};
    PyObject *path, *handle, *current, *process, *quiet;
    int tuples;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UOO!OOp", names, &path, &handle,
                                     &PyContextVar_Type, &current, &process, &quiet, &tuples)) {
        return NULL;
    }
    gate_t *self = (gate_t *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = gate_call;
    self->path = Py_NewRef(path);
    self->handle = Py_NewRef(handle);
    self->current = Py_NewRef(current);
    self->process = Py_NewRef(process);
    self->quiet = Py_NewRef(quiet);
    self->tuples = (char)tuples;
    return (PyObject *)self;
}

/* No tp_clear: a gate or door never changes, and what it holds breaks its cycles. */
static PyTypeObject gate_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dispatch_xp._function_gate.Gate",
    .tp_doc = "What a door of a function calls with the user's arguments.",
    .tp_basicsize = sizeof(gate_t),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = gate_new,
    .tp_dealloc = gate_dealloc,
    .tp_traverse = gate_traverse,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(gate_t, vectorcall),
};

/* A whole door in C, for what NumPy's dispatcher calls: the gate, then the function itself, with the
 * arguments as they came. In Python, `*args` and `**kwargs` would be packed and unpacked twice. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *gate;
    PyObject *reference; /* the function behind the door */
    PyObject *active;    /* a list of one number: how many contexts are active */
} door_t;

/* Leave an outcome as a `with` statement does, with the error that is set, if one is. */
static int
leave(PyObject *outcome)
{
    PyObject *type = NULL, *error = NULL, *traceback = NULL;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    PyObject *none = Py_None;
    PyObject *all[] = {outcome, type ? type : none, error ? error : none,
                       traceback ? traceback : none};
    PyObject *left = PyObject_VectorcallMethod(name_exit, all, 4, NULL);
    Py_XDECREF(left);
    if (left == NULL) {
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(traceback);
        return -1;
    }
    PyErr_Restore(type, error, traceback);
    return 0;
}

/* The result of a call that was looked at: the outcome's, or the reference's within the outcome. */
static PyObject *
completed(door_t *self, PyObject *outcome, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *done = PyObject_GetAttr(outcome, name_done);
    int is_done = done == NULL ? -1 : PyObject_IsTrue(done);
    Py_XDECREF(done);
    if (is_done) {
        return is_done < 0 ? NULL : PyObject_GetAttr(outcome, name_result);
    }
    PyObject *entered = PyObject_CallMethodNoArgs(outcome, name_enter);
    if (entered == NULL) {
        return NULL;
    }
    Py_DECREF(entered);
    PyObject *result = PyObject_Vectorcall(self->reference, args, nargsf, kwnames);
    if (result != NULL) {
        Py_SETREF(result, PyObject_CallMethodOneArg(outcome, name_finish, result));
    }
    if (leave(outcome) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

static PyObject *
door_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    door_t *self = (door_t *)callable;
    int active = PyObject_IsTrue(PyList_GET_ITEM(self->active, 0));
    if (active < 0) {
        return NULL;
    }
    if (active) {
        PyObject *outcome = gate_call(self->gate, args, (size_t)PyVectorcall_NARGS(nargsf), kwnames);
        if (outcome == NULL) {
            return NULL;
        }
        if (outcome != Py_None) {
            PyObject *result = completed(self, outcome, args, nargsf, kwnames);
            Py_DECREF(outcome);
            return result;
        }
        Py_DECREF(outcome);
    }
    return PyObject_Vectorcall(self->reference, args, nargsf, kwnames);
}

static int
door_traverse(PyObject *op, visitproc visit, void *arg)
{
    door_t *self = (door_t *)op;
    Py_VISIT(self->gate);
    Py_VISIT(self->reference);
    Py_VISIT(self->active);
    return 0;
}

static void
door_dealloc(PyObject *op)
{
    door_t *self = (door_t *)op;
    PyObject_GC_UnTrack(op);
    Py_CLEAR(self->gate);
    Py_CLEAR(self->reference);
    Py_CLEAR(self->active);
    Py_TYPE(op)->tp_free(op);
}

/* What a door does not have is the function's: its name, its code, its defaults. */
static PyObject *
door_getattro(PyObject *op, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(op, name);
    if (found == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        found = PyObject_GetAttr(((door_t *)op)->reference, name);
    }
    return found;
}

static PyObject *
door_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"gate", "reference", "active", NULL};
    PyObject *gate, *reference, *active;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OO!", names, &gate_type, &gate, &reference,
                                     &PyList_Type, &active)) {
        return NULL;
    }
    if (PyList_GET_SIZE(active) != 1) {
        PyErr_SetString(PyExc_ValueError, "active has to be a list of one number");
        return NULL;
    }
    door_t *self = (door_t *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = door_call;
    self->gate = Py_NewRef(gate);
    self->reference = Py_NewRef(reference);
    self->active = Py_NewRef(active);
    return (PyObject *)self;
}

static PyTypeObject door_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dispatch_xp._function_gate.Door",
    .tp_basicsize = sizeof(door_t),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = door_new,
    .tp_dealloc = door_dealloc,
    .tp_traverse = door_traverse,
    .tp_getattro = door_getattro,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(door_t, vectorcall),
};

static PyObject *
key(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    if (nargs < 1 || !PyUnicode_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "key() takes the path of a function first");
        return NULL;
    }
    return key_of(args[0], args + 1, nargs - 1, kwnames);
}

static PyMethodDef methods[] = {
    {"key", (PyCFunction)(void (*)(void))key, METH_FASTCALL | METH_KEYWORDS,
     "Return what a decision about a call depends on."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "dispatch_xp._function_gate",
    .m_doc = "What every door of a function does first.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__function_gate(void)
{
    import_array();
    struct {
        PyObject **name;
        const char *text;
    } names[] = {
        {&name_default, "default"},   {&name_done, "done"},     {&name_enter, "__enter__"},
        {&name_exit, "__exit__"},     {&name_finish, "finish"}, {&name_left, "left"},
        {&name_limits, "limits"},     {&name_result, "result"}, {&name_standing, "standing"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *names[i].name = PyUnicode_InternFromString(names[i].text);
        if (*names[i].name == NULL) {
            return NULL;
        }
    }
    if (PyType_Ready(&gate_type) < 0 || PyType_Ready(&door_type) < 0) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && (PyModule_AddObjectRef(module, "Gate", (PyObject *)&gate_type) < 0 ||
                           PyModule_AddObjectRef(module, "Door", (PyObject *)&door_type) < 0)) {
        Py_CLEAR(module);
    }
    return module;
}
