"""Dataclasses whose methods are made on first use, so that a command starts faster.

`dataclasses.dataclass` compiles up to six functions for each class when a module is imported.
These functions took 40 % of the start of a command, and most of them were never called.
Here `__init__` is compiled for a class with several instances, and all classes share the other
methods.  The decorator of the standard library makes the fields when they are first read,
for example by `dataclasses.replace`.
"""

from __future__ import annotations

# type checkers assume that it is true
TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    import sys
    from dataclasses import MISSING, Field
    from functools import cache, partial
    from reprlib import recursive_repr
    from threading import RLock

    _FIELDS, _completion = "__dataclass_fields__", RLock()
    # instances of a class for which compiling its `__init__` takes longer than it saves
    _NOT_WORTH_COMPILING = 8

    def dataclass(kind=None, /, **options):
        """Like `dataclasses.dataclass`; options are `init`, `repr`, `eq` and `frozen`."""
        if kind is None:
            return partial(dataclass, **options)
        frozen, methods = options.get("frozen", False), {}
        if options.get("init", True):
            methods["__init__"] = InitOnUse(_compiled_init, kind, frozen)
        if options.get("repr", True):
            methods["__repr__"] = _representation
        if options.get("eq", True):
            methods |= {"__eq__": _equals, "__hash__": _hash if frozen else None}
        if frozen:
            methods |= {"__setattr__": _reject_assignment, "__delattr__": _reject_assignment}
        for name in (_FIELDS, "__dataclass_params__", "__match_args__"):
            methods[name] = OnUse(_completed, kind, frozen, name)
        # methods of the class itself are kept; Python sets __hash__ to None if a class has __eq__
        own = {name for name, value in vars(kind).items() if value is not None}
        for name in methods.keys() - own:
            setattr(kind, name, methods[name])
        return kind

    class OnUse:
        """A class attribute that is made when it is first read."""

        def __init__(self, make, *arguments):
            self.make, self.arguments = make, arguments

        def __get__(self, instance, owner):
            made = self.make(*self.arguments)
            return made.__get__(instance, owner) if hasattr(made, "__get__") else made

    class InitOnUse(OnUse):
        """An `__init__` that sets the fields of the first instances one by one."""

        def __init__(self, make, *arguments):
            super().__init__(make, *arguments)
            self.left, self.fields = _NOT_WORTH_COMPILING, ()

        def __get__(self, instance, owner):
            # threads that count at the same time may count below 0
            if self.left <= 0 or not isinstance(instance, self.arguments[0]):
                return super().__get__(instance, owner)
            self.left -= 1
            self.fields = self.fields or _init_fields(self.arguments[0])
            return partial(self.set_fields, instance)

        def set_fields(self, record, /, *arguments, **named):
            """Do what the compiled `__init__` does; leave wrong arguments to it."""
            ordinary = [name for name, field in self.fields if field.init and not _is_named(field)]
            values = dict(zip(ordinary, arguments, strict=False))
            sound = len(arguments) <= len(ordinary) and not values.keys() & named.keys()
            values |= named
            set_value = object.__setattr__ if self.arguments[1] else setattr
            for name, field in self.fields:
                if field.init and name in values:
                    set_value(record, name, values.pop(name))
                elif field.default_factory is not MISSING:
                    set_value(record, name, field.default_factory())
                elif field.default is not MISSING:
                    set_value(record, name, field.default)
                else:
                    sound = sound and not field.init
            if not sound or values:
                self.make(*self.arguments)(record, *arguments, **named)
            elif hasattr(record, "__post_init__"):
                record.__post_init__()

    def _is_named(field):
        return field.kw_only is True

    def _completed(kind, frozen, name):
        """Make the fields with the standard library; return an attribute of the class."""
        with _completion:
            if isinstance(vars(kind)[_FIELDS], OnUse):
                for method in ("__setattr__", "__delattr__"):
                    if vars(kind).get(method) is _reject_assignment:
                        delattr(kind, method)
                dataclasses.dataclass(init=False, repr=False, eq=False, frozen=frozen)(kind)
                each = dataclasses.fields(kind)
                kind.__match_args__ = tuple(f.name for f in each if f.init and not f.kw_only)
        return vars(kind)[name]

    def _init_fields(kind):
        """Name and field of each argument, without the standard library if it is possible."""
        inherits = any(_FIELDS in vars(base) for base in kind.__mro__[1:])
        texts = {} if inherits else kind.__annotations__
        with _completion:
            if inherits or not isinstance(vars(kind)[_FIELDS], OnUse) or "ClassVar" in str(texts):
                return [(f.name, f) for f in dataclasses.fields(kind)]
            values = [(name, vars(kind).get(name, MISSING)) for name in texts]
        fields = []
        for name, value in values:
            field = value if isinstance(value, Field) else dataclasses.field(default=value)
            field.type = texts[name]
            fields.append((name, field))
        return fields

    def _compiled_init(kind, frozen):
        """Compile `__init__` and store it in the class."""
        values, lines, ordinary, named = {"_set": object.__setattr__}, [], [], []
        for name, field in (fields := _init_fields(kind)):
            value, default = name, ""
            if field.default_factory is not MISSING:
                values[f"_new_{name}"], default = field.default_factory, "=_FACTORY"
                value = f"_new_{name}() if {name} is _FACTORY else {name}"
                value = value if field.init else f"_new_{name}()"
            elif field.default is not MISSING:
                values[f"_default_{name}"], default = field.default, f"=_default_{name}"
            if field.init:
                (named if _is_named(field) else ordinary).append(f"{name}{default}")
            elif not default:
                continue
            elif field.default is not MISSING:
                value = f"_default_{name}"
            lines.append(f"_set(self, '{name}', {value})" if frozen else f"self.{name} = {value}")
        if hasattr(kind, "__post_init__"):
            lines.append("self.__post_init__()")
        parameters = ", ".join(["self", *ordinary, *(["*", *named] if named else [])])
        body = "\n  ".join(lines or ["pass"])
        source = f"def make({', '.join(values)}, _FACTORY):\n def __init__({parameters}):\n  {body}"
        space = {}
        exec(f"{source}\n return __init__", vars(sys.modules[kind.__module__]), space)
        made = space["make"](**values, _FACTORY=_FACTORY)
        made.__qualname__ = f"{kind.__qualname__}.__init__"
        types = {name: field.type for name, field in fields if field.init}
        made.__annotations__ = types | {"return": None}
        kind.__init__ = made
        return made

    class _Factory:
        def __repr__(self):
            return "<factory>"

    _FACTORY = _Factory()

    def _reject_assignment(self, name, *value):
        action = "assign to" if value else "delete"
        raise dataclasses.FrozenInstanceError(f"cannot {action} field {name!r}")

    @cache
    def _names(kind, purpose):
        """Names of the fields that 'compare' or 'repr' considers."""
        return tuple(f.name for f in dataclasses.fields(kind) if getattr(f, purpose))

    def _values(record):
        return [getattr(record, name) for name in _names(record.__class__, "compare")]

    def _equals(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        return _values(self) == _values(other)

    def _hash(self):
        return hash(tuple(_values(self)))

    @recursive_repr()
    def _representation(self):
        names = _names(self.__class__, "repr")
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({values})"
