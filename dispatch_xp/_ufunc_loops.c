/* Ufunc loops with a door: a call below a limit goes straight to the loop that was there before,
 * a larger one is offered to a Python handler, which may write the output in the loop's place.
 * A reduction is a loop too, one whose output stands still; it has a limit of its own.
 *
 * Everything goes through NumPy's public C interface (PyUFunc_ReplaceLoopBySignature).
 *
 * A slot belongs to one loop for the life of the process. A thread may be inside a trampoline while
 * the loop is put back, so what a trampoline reads must stay valid for ever: slots are never given
 * to another loop, and the ufunc is kept alive. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>
#include <fenv.h>
#include <math.h>
#include <stdint.h>

#define SLOTS 512
#define MOST_ARGUMENTS 8
#define PLACES 8
#define LEFT UINT64_C(0xFFFF)
/* the least elements of a loop in place: reductions have many small ones, for the rows that they add
 * to their result */
#define LEAST_IN_PLACE 1024

typedef struct {
    /* first what a small call reads: the smaller one of the limits, the loop, whether it is one of
     * matrices */
    double gate;
    PyUFuncGenericFunction original;
    int core;
    PyUFuncObject *ufunc;
    int types[MOST_ARGUMENTS];
    npy_intp itemsizes[MOST_ARGUMENTS];
    int installed;
    long long offered, handled;
} slot_t;

static slot_t slots[SLOTS];
static int used = 0;
static double limits[SLOTS];
static double reduction_limits[SLOTS];
static PyObject *handler = NULL;
/* told when an original loop has ended that the handler wants timed */
static PyObject *timekeeper = NULL;

#if defined(_MSC_VER)
#define THREAD_LOCAL __declspec(thread)
#define UNLIKELY(x) (x)
#define COUNT(x) ((x)++)
#define LOAD(x) (*(volatile uint64_t *)&(x))
#define STORE(x, value) (*(volatile uint64_t *)&(x) = (value))
#else
#define THREAD_LOCAL __thread
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COUNT(x) __atomic_add_fetch(&(x), 1, __ATOMIC_RELAXED)
#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define STORE(x, value) __atomic_store_n(&(x), (value), __ATOMIC_RELAXED)
#endif

static THREAD_LOCAL int inside = 0;
/* whether the handler of this thread's loop has written the output */
static THREAD_LOCAL int written = 0;

/* What a handler may make of a loop. */
enum kind {
    NOTHING,  /* it can only run as it is */
    PLAIN,    /* the output lies apart from the inputs: it may be written bit by bit, and again */
    IN_PLACE, /* the output is an input too: it may be written once, when all of it is known */
    FOLDED    /* a reduction: so may the number */
};

/* The bytes that a strided operand may touch. */
static void
extent(char *data, npy_intp n, npy_intp step, npy_intp itemsize, char **low, char **high)
{
    npy_intp reach = (n - 1) * step;
    *low = reach < 0 ? data + reach : data;
    *high = (reach < 0 ? data : data + reach) + itemsize;
}

/* Whether an input is the output as well: the same elements in the same order, x in `x += y`. A loop
 * of length one may be a step of `ufunc.at` or of a reduction. */
static int
is_output(const slot_t *slot, char **args, npy_intp n, const npy_intp *steps, int input)
{
    int out = slot->ufunc->nin;
    npy_intp step = steps[out] < 0 ? -steps[out] : steps[out];
    return n > 1 && slot->ufunc->nout == 1 && args[input] == args[out] &&
           steps[input] == steps[out] && slot->types[input] == slot->types[out] &&
           step >= slot->itemsizes[out];
}

/* What an elementwise loop is: nothing if it is a reduction (its output stands still), or if an
 * output overlaps another operand in any other way than by being it. */
static enum kind
elementwise_kind(const slot_t *slot, char **args, npy_intp n, const npy_intp *steps)
{
    const PyUFuncObject *ufunc = slot->ufunc;
    enum kind kind = PLAIN;
    for (int out = ufunc->nin; out < ufunc->nargs; out++) {
        char *low, *high;
        if (steps[out] == 0 && n > 1) {
            return NOTHING;
        }
        extent(args[out], n, steps[out], slot->itemsizes[out], &low, &high);
        for (int other = 0; other < ufunc->nargs; other++) {
            char *other_low, *other_high;
            if (other == out) {
                continue;
            }
            if (other < ufunc->nin && is_output(slot, args, n, steps, other)) {
                kind = IN_PLACE;
                continue;
            }
            extent(args[other], n, steps[other], slot->itemsizes[other], &other_low, &other_high);
            if (low < other_high && other_low < high) {
                return NOTHING;
            }
        }
    }
    return kind;
}

/* Whether a loop folds an operand into one number: `out = out op x[i]`, with an output that stands
 * still. A loop of length one may be that or not. */
static int
is_reduction(const slot_t *slot, char **args, npy_intp n, const npy_intp *steps)
{
    const PyUFuncObject *ufunc = slot->ufunc;
    return !slot->core && ufunc->nin == 2 && ufunc->nout == 1 && n > 1 &&
           args[0] == args[2] && steps[0] == 0 && steps[2] == 0;
}

/* Whether the number lies outside of what is folded into it. */
static int
apart(const slot_t *slot, char **args, npy_intp n, const npy_intp *steps)
{
    char *low, *high;
    extent(args[1], n, steps[1], slot->itemsizes[1], &low, &high);
    return args[2] + slot->itemsizes[2] <= low || high <= args[2];
}

/* Whether NumPy's own Python code reduces or updates in place: np.sum(x), x.sum(), np.var(x). Those
 * functions have doors, where it has been decided already, for all of the call. */
static int
decided_before(void)
{
    static const char *const modules[] = {"numpy._core._methods", "numpy._core.fromnumeric",
                                          "numpy.linalg._linalg"};
    PyObject *globals = PyEval_GetGlobals();
    PyObject *name = globals == NULL ? NULL : PyDict_GetItemString(globals, "__name__");
    if (name == NULL || !PyUnicode_Check(name)) {
        return 0;
    }
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (PyUnicode_CompareWithASCIIString(name, modules[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* An array over a loop's own memory, writeable if it is an output. */
static PyObject *
view(const slot_t *slot, int operand, int ndim, const npy_intp *shape, const npy_intp *strides,
     char *data)
{
    PyArray_Descr *descr = PyArray_DescrFromType(slot->types[operand]);
    int flags = operand < slot->ufunc->nin ? 0 : NPY_ARRAY_WRITEABLE;
    return PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, strides, data, flags, NULL);
}

/* What is reduced, and the number that it is folded into. */
static PyObject *
reduction_operands(const slot_t *slot, char **args, npy_intp n, const npy_intp *steps)
{
    PyObject *x = view(slot, 1, 1, &n, &steps[1], args[1]);
    PyObject *number = view(slot, 2, 0, NULL, NULL, args[2]);
    PyObject *arrays = x == NULL || number == NULL ? NULL : PyTuple_Pack(2, x, number);
    Py_XDECREF(x);
    Py_XDECREF(number);
    return arrays;
}

/* The operands as arrays over the loop's own memory; an input that is the output is a view of it. */
static PyObject *
operands(const slot_t *slot, enum kind kind, char **args, const npy_intp *dims,
         const npy_intp *steps)
{
    PyUFuncObject *ufunc = slot->ufunc;
    const npy_intp *core_steps = steps + ufunc->nargs;
    PyObject *arrays = PyTuple_New(ufunc->nargs);
    if (arrays == NULL) {
        return NULL;
    }
    for (int i = 0; i < ufunc->nargs; i++) {
        npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
        int ndim = 1;
        shape[0] = dims[0];
        strides[0] = steps[i];
        if (slot->core) {
            for (int k = 0; k < ufunc->core_num_dims[i]; k++) {
                shape[ndim] = dims[1 + ufunc->core_dim_ixs[ufunc->core_offsets[i] + k]];
                strides[ndim++] = *core_steps++;
            }
        }
        PyObject *array = view(slot, i, ndim, shape, strides, args[i]);
        if (array == NULL) {
            Py_DECREF(arrays);
            return NULL;
        }
        PyTuple_SET_ITEM(arrays, i, array);
    }
    PyObject *output = PyTuple_GET_ITEM(arrays, ufunc->nargs - 1);
    for (int i = 0; kind == IN_PLACE && i < ufunc->nin; i++) {
        PyArrayObject *input = (PyArrayObject *)PyTuple_GET_ITEM(arrays, i);
        if (is_output(slot, args, dims[0], steps, i) &&
            PyArray_SetBaseObject(input, Py_NewRef(output)) < 0) {
            Py_DECREF(arrays);
            return NULL;
        }
    }
    return arrays;
}

/* Whether somebody holds an array besides the tuple, and the views of it that are in there. */
static int
is_kept(PyObject *arrays, PyObject *array)
{
    Py_ssize_t known = 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arrays); i++) {
        known += PyArray_BASE((PyArrayObject *)PyTuple_GET_ITEM(arrays, i)) == array;
    }
    return Py_REFCNT(array) > known;
}

/* Nobody may look at the loop's memory after the call. The arrays have no base that could be told,
 * so one that was kept is reported; the memory is NumPy's and outlives a loop only by luck. */
static void
let_go(PyObject *arrays)
{
    int kept = Py_REFCNT(arrays) > 1;
    for (Py_ssize_t i = 0; !kept && i < PyTuple_GET_SIZE(arrays); i++) {
        kept = is_kept(arrays, PyTuple_GET_ITEM(arrays, i));
    }
    if (kept) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a handler kept an array over the memory of a ufunc loop");
        PyErr_WriteUnraisable(handler);
    }
    Py_DECREF(arrays);
}

/* Whether this is the thread that signals are handled in. */
static int
is_main_thread(void)
{
    int is_main = 0;
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *main_thread =
        threading == NULL ? NULL : PyObject_CallMethod(threading, "main_thread", NULL);
    PyObject *ident = main_thread == NULL ? NULL : PyObject_GetAttrString(main_thread, "ident");
    if (ident != NULL) {
        is_main = PyLong_AsUnsignedLong(ident) == PyThread_get_thread_ident();
    }
    Py_XDECREF(ident);
    Py_XDECREF(main_thread);
    Py_XDECREF(threading);
    PyErr_Clear();
    return is_main;
}

static int
raise_again(void *error)
{
    PyErr_SetObject((PyObject *)Py_TYPE((PyObject *)error), (PyObject *)error);
    Py_DECREF((PyObject *)error);
    return -1;
}

/* Put the current error off until Python runs again in this thread: a loop can't raise by itself,
 * and the original still has to fill the output. For what is no Exception: KeyboardInterrupt, and
 * what a signal handler raises, such as the end of a test's time. */
static void
raise_later(void)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    Py_XDECREF(traceback);
    if (error == NULL) {
        Py_XDECREF(type);
        return;
    }
    /* its traceback, and those of earlier errors, hold frames that hold arrays */
    PyException_SetTraceback(error, Py_None);
    PyException_SetContext(error, NULL);
    PyException_SetCause(error, NULL);
    if (!is_main_thread() || Py_AddPendingCall(raise_again, error) != 0) {
        /* another thread can be sent a type only */
        PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), type);
        Py_DECREF(error);
    }
    Py_DECREF(type);
}

/* Deal with an exception of the handler's or the clock's: a loop can't raise by itself. */
static void
reported(PyObject *callee)
{
    if (!PyErr_Occurred()) {
        return;
    }
    if (PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_WriteUnraisable(callee);
    }
    else {
        raise_later();
    }
}

/* Ask the handler: 1 if the output has been written, 0 if not, and -n if not and the next n loops of
 * these dimensions need not be offered. If the original loop is to be timed, `timed` is given the
 * operands, to be handed to `tell`. */
static int
offer(int number, enum kind kind, char **args, const npy_intp *dims, const npy_intp *steps,
      PyObject **timed)
{
    slot_t *slot = &slots[number];
    int done = 0;
    fexcept_t flags;
    if (!Py_IsInitialized()) {
        return 0;
    }
    PyGILState_STATE gil = PyGILState_Ensure();
    if (kind != PLAIN && decided_before()) {
        PyGILState_Release(gil);
        return 0;
    }
    /* what the handler computes must not show in the caller's floating-point flags */
    fegetexceptflag(&flags, FE_ALL_EXCEPT);
    /* a pending error (of a casting loop before us) is the caller's to see */
    if (handler != NULL && !PyErr_Occurred()) {
        COUNT(slot->offered);
        PyObject *arrays = kind == FOLDED ? reduction_operands(slot, args, dims[0], steps)
                                          : operands(slot, kind, args, dims, steps);
        PyObject *callee = handler;
        Py_INCREF(callee);
        written = 0;
        if (arrays != NULL) {
            PyObject *answer = PyObject_CallFunction(callee, "iO", number, arrays);
            if (answer != NULL) {
                done = answer == Py_True;
                if (PyLong_CheckExact(answer)) {
                    long calls = PyLong_AsLong(answer);
                    /* never positive: that would say the output has been written */
                    calls = calls < 0 ? 0 : calls > (long)LEFT ? (long)LEFT : calls;
                    done = -(int)calls;
                }
                else if (answer == Py_None && timekeeper != NULL && !written) {
                    *timed = arrays;
                }
                Py_DECREF(answer);
            }
            /* before an exception is dealt with: its traceback holds frames that hold arrays */
            if (answer == NULL) {
                Py_DECREF(arrays);
            }
            else if (*timed == NULL) {
                let_go(arrays);
            }
        }
        /* whatever went wrong afterwards: what has been written is no input any more */
        if (written) {
            done = 1;
        }
        if (done > 0) {
            COUNT(slot->handled);
        }
        reported(callee);
        Py_DECREF(callee);
    }
    PyGILState_Release(gil);
    fesetexceptflag(&flags, FE_ALL_EXCEPT);
    return done;
}

/* Tell the clock that the original loop has ended, and let its operands go. */
static void
tell(int number, PyObject *arrays)
{
    PyObject *type, *value, *traceback;
    fexcept_t flags;
    if (!Py_IsInitialized()) {
        return;
    }
    /* what the loop has raised is the caller's to see, what the clock computes is not */
    fegetexceptflag(&flags, FE_ALL_EXCEPT);
    PyGILState_STATE gil = PyGILState_Ensure();
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *callee = timekeeper;
    PyObject *answer = NULL;
    if (callee != NULL) {
        Py_INCREF(callee);
        answer = PyObject_CallFunction(callee, "i", number);
    }
    if (callee == NULL || answer != NULL) {
        let_go(arrays);
    }
    else {
        Py_DECREF(arrays);
    }
    Py_XDECREF(answer);
    reported(callee);
    Py_XDECREF(callee);
    PyErr_Restore(type, value, traceback);
    PyGILState_Release(gil);
    fesetexceptflag(&flags, FE_ALL_EXCEPT);
}

/* The elements of the largest operand. */
static inline double
size_of(const slot_t *slot, const npy_intp *dims)
{
    if (!slot->core) {
        return (double)dims[0];
    }
    const PyUFuncObject *ufunc = slot->ufunc;
    double largest = 0;
    for (int i = 0; i < ufunc->nargs; i++) {
        double size = (double)dims[0];
        for (int k = 0; k < ufunc->core_num_dims[i]; k++) {
            size *= (double)dims[1 + ufunc->core_dim_ixs[ufunc->core_offsets[i] + k]];
        }
        largest = size > largest ? size : largest;
    }
    return largest;
}

/* What stayed: for each slot a few places, found by a hash of the dimensions. A place holds the
 * upper bits of the hash and, in the lower LEFT, how many more loops stay unasked. Threads may lose
 * each other's counts; a loop that stays is right at any time. */
static uint64_t stayed[SLOTS][PLACES];
static uint64_t generation = 1;

static inline uint64_t
hash_of(const slot_t *slot, enum kind kind, const npy_intp *dims)
{
    uint64_t hash = (4 * LOAD(generation) + (uint64_t)kind) * UINT64_C(0x9E3779B97F4A7C15);
    int n = 1 + (slot->core ? slot->ufunc->core_num_dim_ix : 0);
    for (int i = 0; i < n; i++) {
        hash = (hash ^ (uint64_t)dims[i]) * UINT64_C(0xD6E8FEB86659FD93);
        hash ^= hash >> 32;
    }
    return hash;
}

/* A loop that is large enough for one of the limits: offered, unless an earlier answer still holds.
 * Returns whether it is done, and the original need not run any more. */
#if !defined(_MSC_VER)
__attribute__((noinline))
#endif
static int
considered(int number, char **args, npy_intp const *dims, npy_intp const *steps, void *data)
{
    const slot_t *slot = &slots[number];
    int reduction = is_reduction(slot, args, dims[0], steps);
    if (size_of(slot, dims) < (reduction ? reduction_limits : limits)[number]) {
        return 0;
    }
    enum kind kind = PLAIN;
    if (reduction) {
        kind = apart(slot, args, dims[0], steps) ? FOLDED : NOTHING;
    }
    else if (!slot->core) {
        kind = elementwise_kind(slot, args, dims[0], steps);
    }
    if (kind == NOTHING || (kind == IN_PLACE && dims[0] < LEAST_IN_PLACE)) {
        return 0;
    }
    uint64_t hash = hash_of(slot, kind, dims);
    uint64_t *place = &stayed[number][hash % PLACES];
    uint64_t found = LOAD(*place);
    PyObject *timed = NULL;
    if (((found ^ hash) & ~LEFT) == 0 && (found & LEFT)) {
        STORE(*place, found - 1);
        return 0;
    }
    inside = 1;
    int done = offer(number, kind, args, dims, steps, &timed);
    if (timed != NULL) {
        slot->original(args, dims, steps, data);
        tell(number, timed);
        done = 1;
    }
    inside = 0;
    if (done < 0) {
        STORE(*place, (hash & ~LEFT) | (uint64_t)-done);
    }
    return done > 0;
}

static inline void
trampoline(int number, char **args, npy_intp const *dims, npy_intp const *steps, void *data)
{
    slot_t *slot = &slots[number];
    /* no size reaches infinity, the usual limit: nothing else is looked at then */
    if (slot->gate != INFINITY && UNLIKELY(size_of(slot, dims) >= slot->gate) && !inside &&
        considered(number, args, dims, steps, data)) {
        return;
    }
    slot->original(args, dims, steps, data);
}

#define LOOP(n)                                                                               \
    static void loop_##n(char **args, npy_intp const *dims, npy_intp const *steps, void *data) \
    {                                                                                         \
        trampoline(0x##n, args, dims, steps, data);                                           \
    }
#define NAME(n) loop_##n,
#define SIXTEEN(M, h)                                                                          \
    M(h##0) M(h##1) M(h##2) M(h##3) M(h##4) M(h##5) M(h##6) M(h##7) M(h##8) M(h##9) M(h##A)    \
    M(h##B) M(h##C) M(h##D) M(h##E) M(h##F)
#define ALL_256(M, h)                                                                          \
    SIXTEEN(M, h##0) SIXTEEN(M, h##1) SIXTEEN(M, h##2) SIXTEEN(M, h##3) SIXTEEN(M, h##4)       \
    SIXTEEN(M, h##5) SIXTEEN(M, h##6) SIXTEEN(M, h##7) SIXTEEN(M, h##8) SIXTEEN(M, h##9)       \
    SIXTEEN(M, h##A) SIXTEEN(M, h##B) SIXTEEN(M, h##C) SIXTEEN(M, h##D) SIXTEEN(M, h##E)       \
    SIXTEEN(M, h##F)
ALL_256(LOOP, 0)
ALL_256(LOOP, 1)
static const PyUFuncGenericFunction loops[SLOTS] = {ALL_256(NAME, 0) ALL_256(NAME, 1)};

/* The position of a loop in its ufunc, or -1. */
static int
position(const PyUFuncObject *ufunc, const int *types)
{
    for (int j = 0; j < ufunc->ntypes; j++) {
        int same = 1;
        for (int k = 0; k < ufunc->nargs; k++) {
            same &= ufunc->types[j * ufunc->nargs + k] == types[k];
        }
        if (same) {
            return j;
        }
    }
    return -1;
}

/* Offer no loop of a slot. */
static void
never(int number)
{
    slots[number].gate = limits[number] = reduction_limits[number] = INFINITY;
}

static PyObject *
install(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *object, *given;
    if (!PyArg_ParseTuple(args, "OO!:install", &object, &PyTuple_Type, &given)) {
        return NULL;
    }
    if (!PyObject_TypeCheck(object, &PyUFunc_Type)) {
        return PyErr_Format(PyExc_TypeError, "%R is not a ufunc", object);
    }
    PyUFuncObject *ufunc = (PyUFuncObject *)object;
    if (ufunc->nargs > MOST_ARGUMENTS || PyTuple_GET_SIZE(given) != ufunc->nargs) {
        return PyErr_Format(PyExc_LookupError, "%R has no loop for %R", object, given);
    }
    int types[MOST_ARGUMENTS] = {0};
    for (int k = 0; k < ufunc->nargs; k++) {
        types[k] = (int)PyLong_AsLong(PyTuple_GET_ITEM(given, k));
        if (types[k] == -1 && PyErr_Occurred()) {
            return NULL;
        }
    }
    int where = position(ufunc, types);
    if (where < 0) {
        return PyErr_Format(PyExc_LookupError, "%R has no loop for %R", object, given);
    }
    int number = 0;
    while (number < used && !(slots[number].ufunc == ufunc &&
                              memcmp(slots[number].types, types, sizeof types) == 0)) {
        number++;
    }
    if (number == SLOTS) {
        PyErr_SetString(PyExc_RuntimeError, "no slot is left");
        return NULL;
    }
    slot_t *slot = &slots[number];
    if (slot->installed) {
        return PyLong_FromLong(number);
    }
    PyUFuncGenericFunction found = ufunc->functions[where], replaced = NULL;
    if (found != loops[number]) {
        slot->original = found;
    }
    if (number == used) {
        slot->ufunc = (PyUFuncObject *)Py_NewRef(object);
        slot->core = ufunc->core_enabled;
        memcpy(slot->types, types, sizeof types);
        for (int k = 0; k < ufunc->nargs; k++) {
            PyArray_Descr *descr = PyArray_DescrFromType(types[k]);
            slot->itemsizes[k] = PyDataType_ELSIZE(descr);
            Py_DECREF(descr);
        }
        used++;
    }
    never(number);
    if (found != loops[number] &&
        (PyUFunc_ReplaceLoopBySignature(ufunc, loops[number], types, &replaced) < 0 ||
         replaced != found || ufunc->functions[where] != loops[number])) {
        return PyErr_Format(PyExc_RuntimeError, "the loop of %R can't be replaced", object);
    }
    slot->installed = 1;
    return PyLong_FromLong(number);
}

/* The slot of a Python integer, or NULL with an exception. */
static slot_t *
slot_of(PyObject *number)
{
    long n = PyLong_AsLong(number);
    if (n == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (n < 0 || n >= used) {
        PyErr_Format(PyExc_IndexError, "there is no slot %ld", n);
        return NULL;
    }
    return &slots[n];
}

static PyObject *
uninstall(PyObject *Py_UNUSED(module), PyObject *number)
{
    slot_t *slot = slot_of(number);
    if (slot == NULL) {
        return NULL;
    }
    never((int)(slot - slots));
    PyUFuncObject *ufunc = slot->ufunc;
    int where = position(ufunc, slot->types);
    PyUFuncGenericFunction ours = loops[slot - slots], replaced = NULL;
    if (!slot->installed) {
        Py_RETURN_FALSE;
    }
    if (ufunc->functions[where] != ours) {
        /* somebody replaced the loop after us, and calls ours: leave it in the chain */
        Py_RETURN_FALSE;
    }
    if (PyUFunc_ReplaceLoopBySignature(ufunc, slot->original, slot->types, &replaced) < 0) {
        return PyErr_Format(PyExc_RuntimeError, "the loop of %R can't be put back", ufunc);
    }
    slot->installed = 0;
    Py_RETURN_TRUE;
}

/* Copy limits, one per slot and no more than there are; whether that was possible. */
static int
copy_limits(PyObject *values, double *destination)
{
    PyArrayObject *array = (PyArrayObject *)PyArray_FROMANY(
        values, NPY_DOUBLE, 1, 1, NPY_ARRAY_IN_ARRAY);
    if (array == NULL) {
        return 0;
    }
    npy_intp n = PyArray_DIM(array, 0);
    if (n > used) {
        Py_DECREF(array);
        PyErr_Format(PyExc_ValueError, "%zd limits for %d slots", (Py_ssize_t)n, used);
        return 0;
    }
    const double *data = (const double *)PyArray_DATA(array);
    for (npy_intp i = 0; i < n; i++) {
        destination[i] = slots[i].installed ? data[i] : INFINITY;
    }
    Py_DECREF(array);
    return 1;
}

static PyObject *
set_limits(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *values, *reductions = NULL;
    if (!PyArg_ParseTuple(args, "O|O:set_limits", &values, &reductions) ||
        !copy_limits(values, limits) ||
        (reductions != NULL && !copy_limits(reductions, reduction_limits))) {
        return NULL;
    }
    for (int i = 0; i < used; i++) {
        if (reductions == NULL) {
            reduction_limits[i] = INFINITY;
        }
        slots[i].gate = limits[i] < reduction_limits[i] ? limits[i] : reduction_limits[i];
    }
    Py_RETURN_NONE;
}

static PyObject *
forget(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    STORE(generation, generation + 1);
    Py_RETURN_NONE;
}

/* Keep a callable, or nothing for None; whether that was possible. */
static int
keep(PyObject **place, PyObject *callable)
{
    if (callable != Py_None && !PyCallable_Check(callable)) {
        PyErr_Format(PyExc_TypeError, "%R is not callable", callable);
        return 0;
    }
    Py_XSETREF(*place, callable == Py_None ? NULL : Py_NewRef(callable));
    return 1;
}

static PyObject *
set_clock(PyObject *Py_UNUSED(module), PyObject *callable)
{
    if (!keep(&timekeeper, callable)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
set_handler(PyObject *Py_UNUSED(module), PyObject *callable)
{
    if (!keep(&handler, callable)) {
        return NULL;
    }
    /* the new one has not said anything yet */
    STORE(generation, generation + 1);
    Py_RETURN_NONE;
}

static PyObject *
write_output(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *output, *value;
    if (!PyArg_ParseTuple(args, "O!O:write", &PyArray_Type, &output, &value)) {
        return NULL;
    }
    PyArrayObject *source = (PyArrayObject *)PyArray_FROM_O(value);
    if (source == NULL) {
        return NULL;
    }
    PyArray_Descr *descr = PyArray_DESCR((PyArrayObject *)output);
    if (!PyArray_CanCastArrayTo(source, descr, NPY_SAME_KIND_CASTING)) {
        PyErr_Format(PyExc_TypeError, "%R does not go into %R", PyArray_DESCR(source), descr);
    }
    else {
        /* no signal is looked at in between */
        written = PyArray_CopyInto((PyArrayObject *)output, source) == 0;
    }
    Py_DECREF(source);
    if (PyErr_Occurred()) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
counters(PyObject *Py_UNUSED(module), PyObject *number)
{
    slot_t *slot = slot_of(number);
    return slot == NULL ? NULL : Py_BuildValue("LL", slot->offered, slot->handled);
}

static PyMethodDef methods[] = {
    {"install", install, METH_VARARGS,
     "install(ufunc, types)\n--\n\nPut a door into the loop of these type numbers; its slot."},
    {"uninstall", uninstall, METH_O,
     "uninstall(slot)\n--\n\nPut the original loop back; False if the loop isn't ours now."},
    {"set_limits", set_limits, METH_VARARGS,
     "set_limits(values, reductions=None)\n--\n\nSet the size below which a loop is not offered, slot "
     "by slot.\n\n"
     "Without limits of their own, reductions are not offered."},
    {"forget", forget, METH_NOARGS,
     "forget()\n--\n\nOffer every loop again, whatever a handler said before."},
    {"set_handler", set_handler, METH_O,
     "set_handler(callable)\n--\n\nSet who is offered loops: callable(slot, arrays) -> bool, int or "
     "None.\n\n"
     "True if the output has been written; an int if not, and so many loops of the same\n"
     "dimensions need not be offered; None if the clock shall be told when the original loop\n"
     "has ended. Of a reduction the arrays are two: what is reduced, and the number, of no\n"
     "dimension, that it has to be folded into. An input that is the output as well has the\n"
     "output for its base. That one, and the number, are only to be written by `write`."},
    {"write", write_output, METH_VARARGS,
     "write(output, value)\n--\n\nWrite all of the output of the loop that this thread's handler was "
     "offered.\n\n"
     "The original loop then doesn't run, whatever the handler returns or raises."},
    {"set_clock", set_clock, METH_O,
     "set_clock(callable)\n--\n\nSet who is told that an original loop has ended: callable(slot).\n\n"
     "In the loop's thread, after a handler's None; the arrays are still there."},
    {"counters", counters, METH_O,
     "counters(slot)\n--\n\nReturn how often a loop was offered, and written by the handler."},
    {NULL, NULL, 0, NULL},
};

static int
execute(PyObject *Py_UNUSED(module))
{
    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0) {
        return -1;
    }
    for (int i = used; i < SLOTS; i++) {
        never(i);
    }
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_mod_multiple_interpreters
    /* loops belong to the process, a handler to one interpreter */
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    /* no Py_mod_gil: slots and handler are guarded by the GIL, so a free-threaded build turns it
     * back on */
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "dispatch_xp._ufunc_loops",
    .m_doc = "Inner loops of ufuncs with a door for large calls.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC
PyInit__ufunc_loops(void)
{
    return PyModuleDef_Init(&definition);
}
