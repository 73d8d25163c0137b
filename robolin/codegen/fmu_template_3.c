/* FMI 3.0 */
typedef const char *Text;
typedef void (*Log)(void *, int, Text, Text);

static void report(const Model *m, int status, const char *text)
{
    Log log;
    memcpy(&log, &m->log, sizeof log);
    if (log)
        log(m->environment, status, "logStatusError", text);
}

EXPORT Text fmi3GetVersion(void) { return "3.0"; }
EXPORT int fmi3SetDebugLogging(void *m, bool on, size_t n, const Text *names)
{
    (void)m, (void)on, (void)n, (void)names;
    return FMI_OK;
}
EXPORT void *fmi3InstantiateModelExchange(Text name, Text token, Text place, bool visible,
                                          bool logging, void *environment, Log log)
{
    void *address;
    (void)name, (void)place, (void)visible, (void)logging;
    memcpy(&address, &log, sizeof address);
    return instantiate(token, environment, address);
}
EXPORT void *fmi3InstantiateCoSimulation(Text a, Text b, Text c, bool d, bool e, bool f, bool g,
                                         const uint32_t *h, size_t i, void *j, Log k, void *l)
{
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g;
    (void)h, (void)i, (void)j, (void)k, (void)l;
    return NULL;
}
EXPORT void *fmi3InstantiateScheduledExecution(Text a, Text b, Text c, bool d, bool e, void *f,
                                               Log g, void *h, void *i, void *j)
{
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i, (void)j;
    return NULL;
}
EXPORT void fmi3FreeInstance(void *m) { free(m); }
EXPORT int fmi3EnterInitializationMode(void *m, bool limited, double tolerance, double start,
                                       bool ends, double stop)
{
    (void)limited, (void)tolerance, (void)ends, (void)stop;
    ((Model *)m)->time = start;
    return FMI_OK;
}
#define NOTHING(name) EXPORT int name(void *m) { (void)m; return FMI_OK; }
NOTHING(fmi3ExitInitializationMode)
NOTHING(fmi3EnterEventMode)
NOTHING(fmi3Terminate)
NOTHING(fmi3EnterConfigurationMode)
NOTHING(fmi3ExitConfigurationMode)
NOTHING(fmi3EvaluateDiscreteStates)
NOTHING(fmi3EnterContinuousTimeMode)
EXPORT int fmi3EnterStepMode(void *m) { (void)m; return FMI_ERROR; }
EXPORT int fmi3Reset(void *m) { reset(m); return FMI_OK; }
EXPORT int fmi3GetFloat64(void *m, const uint32_t *r, size_t n, double *v, size_t count)
{
    return n == count ? get(m, r, n, v) : FMI_ERROR;
}
EXPORT int fmi3SetFloat64(void *m, const uint32_t *r, size_t n, const double *v, size_t count)
{
    return n == count ? set(m, r, n, v) : FMI_ERROR;
}
#define ABSENT(kind, type) \
    EXPORT int fmi3Get##kind(void *m, const uint32_t *r, size_t n, type *v, size_t count) \
    { (void)m, (void)r, (void)v, (void)count; return n ? FMI_ERROR : FMI_OK; } \
    EXPORT int fmi3Set##kind(void *m, const uint32_t *r, size_t n, const type *v, size_t count) \
    { (void)m, (void)r, (void)v, (void)count; return n ? FMI_ERROR : FMI_OK; }
ABSENT(Float32, float)
ABSENT(Int8, int8_t)
ABSENT(UInt8, uint8_t)
ABSENT(Int16, int16_t)
ABSENT(UInt16, uint16_t)
ABSENT(Int32, int32_t)
ABSENT(UInt32, uint32_t)
ABSENT(Int64, int64_t)
ABSENT(UInt64, uint64_t)
ABSENT(Boolean, bool)
ABSENT(String, Text)
#define UNSUPPORTED(name, ...) EXPORT int name(void *m, __VA_ARGS__) { (void)m; return FMI_ERROR; }
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
UNSUPPORTED(fmi3GetBinary, const uint32_t *r, size_t n, size_t *s, const uint8_t **v, size_t c)
UNSUPPORTED(fmi3SetBinary, const uint32_t *r, size_t n, const size_t *s, const uint8_t **v, size_t c)
UNSUPPORTED(fmi3GetClock, const uint32_t *r, size_t n, bool *v)
UNSUPPORTED(fmi3SetClock, const uint32_t *r, size_t n, const bool *v)
UNSUPPORTED(fmi3GetNumberOfVariableDependencies, uint32_t r, size_t *n)
UNSUPPORTED(fmi3GetVariableDependencies, uint32_t r, size_t *a, uint32_t *b, size_t *c, int *d,
            size_t n)
UNSUPPORTED(fmi3GetAdjointDerivative, const uint32_t *a, size_t b, const uint32_t *c, size_t d,
            const double *e, size_t f, double *g, size_t h)
UNSUPPORTED(fmi3GetIntervalDecimal, const uint32_t *r, size_t n, double *v, int *q)
UNSUPPORTED(fmi3GetIntervalFraction, const uint32_t *r, size_t n, uint64_t *v, uint64_t *w, int *q)
UNSUPPORTED(fmi3GetShiftDecimal, const uint32_t *r, size_t n, double *v)
UNSUPPORTED(fmi3GetShiftFraction, const uint32_t *r, size_t n, uint64_t *v, uint64_t *w)
UNSUPPORTED(fmi3SetIntervalDecimal, const uint32_t *r, size_t n, const double *v)
UNSUPPORTED(fmi3SetIntervalFraction, const uint32_t *r, size_t n, const uint64_t *v,
            const uint64_t *w)
UNSUPPORTED(fmi3SetShiftDecimal, const uint32_t *r, size_t n, const double *v)
UNSUPPORTED(fmi3SetShiftFraction, const uint32_t *r, size_t n, const uint64_t *v, const uint64_t *w)
UNSUPPORTED(fmi3GetOutputDerivatives, const uint32_t *r, size_t n, const int32_t *o, double *v,
            size_t c)
UNSUPPORTED(fmi3DoStep, double t, double h, bool a, bool *b, bool *c, bool *d, double *e)
UNSUPPORTED(fmi3ActivateModelPartition, uint32_t r, double t)
EXPORT int fmi3GetFMUState(void *m, void **state) { return keep_state(m, state); }
EXPORT int fmi3SetFMUState(void *m, void *state) { return copy_state(m, state); }
EXPORT int fmi3FreeFMUState(void *m, void **state) { (void)m; return drop_state(state); }
EXPORT int fmi3SerializedFMUStateSize(void *m, void *state, size_t *size)
{
    (void)m, (void)state;
    *size = sizeof(Model);
    return FMI_OK;
}
EXPORT int fmi3SerializeFMUState(void *m, void *state, uint8_t *bytes, size_t size)
{
    (void)m;
    if (size < sizeof(Model))
        return FMI_ERROR;
    memcpy(bytes, state, sizeof(Model));
    return FMI_OK;
}
EXPORT int fmi3DeserializeFMUState(void *m, const uint8_t *bytes, size_t size, void **state)
{
    (void)m;
    if (size != sizeof(Model) || !(*state = malloc(sizeof(Model))))
        return FMI_ERROR;
    memcpy(*state, bytes, sizeof(Model));
    return FMI_OK;
}
EXPORT int fmi3GetDirectionalDerivative(void *m, const uint32_t *unknowns, size_t many,
                                        const uint32_t *knowns, size_t count, const double *seed,
                                        size_t seeds, double *result, size_t results)
{
    if (seeds != count || results != many)
        return FMI_ERROR;
    return directional(m, unknowns, many, knowns, count, seed, result);
}
EXPORT int fmi3UpdateDiscreteStates(void *m, bool *update, bool *terminate, bool *nominals,
                                    bool *values, bool *defined, double *time)
{
    (void)m;
    *update = *terminate = *nominals = *values = *defined = false;
    *time = 0.0;
    return FMI_OK;
}
EXPORT int fmi3CompletedIntegratorStep(void *m, bool no_return, bool *enter, bool *terminate)
{
    (void)m, (void)no_return;
    *enter = *terminate = false;
    return FMI_OK;
}
EXPORT int fmi3SetTime(void *m, double time) { ((Model *)m)->time = time; return FMI_OK; }
EXPORT int fmi3SetContinuousStates(void *m, const double *x, size_t n)
{
    if (n != 2 * N)
        return FMI_ERROR;
    memcpy(((Model *)m)->x, x, sizeof(double) * 2 * N);
    return FMI_OK;
}
EXPORT int fmi3GetContinuousStates(void *m, double *x, size_t n)
{
    if (n != 2 * N)
        return FMI_ERROR;
    memcpy(x, ((Model *)m)->x, sizeof(double) * 2 * N);
    return FMI_OK;
}
EXPORT int fmi3GetContinuousStateDerivatives(void *m, double *rates, size_t n)
{
    return n == 2 * N ? derivatives(m, rates) : FMI_ERROR;
}
EXPORT int fmi3GetEventIndicators(void *m, double *values, size_t n)
{
    (void)m, (void)values;
    return n ? FMI_ERROR : FMI_OK;
}
EXPORT int fmi3GetNominalsOfContinuousStates(void *m, double *x, size_t n)
{
    (void)m;
    ones(x, n);
    return FMI_OK;
}
EXPORT int fmi3GetNumberOfEventIndicators(void *m, size_t *n) { (void)m; *n = 0; return FMI_OK; }
EXPORT int fmi3GetNumberOfContinuousStates(void *m, size_t *n)
{
    (void)m;
    *n = 2 * N;
    return FMI_OK;
}
