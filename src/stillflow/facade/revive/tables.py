"""Removed names and their replacements: {module: {name: "module:attribute", or a value}}.

A module's own names go first, so an older library that still has a name keeps its own.
"""

from __future__ import annotations

from typing import Any

_MISC = "stillflow.facade.revive.scipy_misc"
_OLD = "stillflow.facade.revive.old_stdlib"
_URLLIB = "stillflow.facade.revive.old_urllib"
_ARRAYS = "stillflow.facade.revive.old_numpy"


def _same(module: str, names: str) -> dict[str, str]:
    """Return a table of names that another module has under the same spelling."""
    return {name: f"{module}:{name}" for name in names.split()}


def _alias(module: str, pairs: str) -> dict[str, str]:
    """Return a table from "old=new old=new"."""
    split = (pair.partition("=") for pair in pairs.split())
    return {old: f"{module}:{new}" for old, _, new in split}


_COLLECTIONS = _same("collections.abc", """
    Awaitable Coroutine AsyncIterable AsyncIterator AsyncGenerator Hashable Iterable Iterator
    Generator Reversible Sized Container Callable Collection Set MutableSet Mapping MutableMapping
    MappingView KeysView ItemsView ValuesView Sequence MutableSequence""")

_NUMPY: dict[str, Any] = {
    **_alias("builtins", """
        bool=bool int=int long=int float=float complex=complex object=object str=str unicode=str
        issubclass_=issubclass"""),
    **_alias("numpy", """
        float_=float64 complex_=complex128 unicode_=str_ string_=bytes_
        Inf=inf Infinity=inf PINF=inf infty=inf NaN=nan product=prod cumproduct=cumprod
        sometrue=any alltrue=all round_=round row_stack=vstack mat=asmatrix
        trapz=trapezoid rank=ndim longcomplex=clongdouble clongfloat=clongdouble
        singlecomplex=complex64 cfloat=complex128 longfloat=longdouble int0=intp uint0=uintp
        bool8=bool_ object0=object_ str0=str_ bytes0=bytes_ void0=void
        """),
    **_same("numpy.exceptions", """
        AxisError ComplexWarning ModuleDeprecationWarning RankWarning TooHardError
        VisibleDeprecationWarning"""),
    **_same(_ARRAYS, """
        asscalar asfarray alen msort in1d find_common_type cast sctypes loads recfromcsv recfromtxt
        disp deprecate typeDict issctype obj2sctype"""),
    "DataSource": "numpy.lib.npyio:DataSource",
    "safe_eval": "ast:literal_eval",
    **_alias("numpy", """
        NAN=nan issubsctype=issubdtype format_parser=rec.format_parser
        compare_chararrays=char.compare_chararrays MachAr=finfo"""),
    **_same(_ARRAYS, "maximum_sctype sctype2char byte_bounds fastCopyAndTranspose"),
    "chararray": "numpy._core.defchararray:chararray",
    "math": "math",
    "sys": "sys",
    "warnings": "warnings",
    "NINF": float("-inf"),
    "NZERO": -0.0,
    "PZERO": 0.0,
}

_SCIPY_MISC = _same(_MISC, """
    imread imsave imresize imrotate imshow imfilter toimage fromimage bytescale central_diff_weights
    derivative""") | _same("scipy.datasets", "ascent face") | _same("scipy.special", """
    logsumexp comb factorial factorial2 factorialk""") | _alias("scipy.interpolate", "pade=pade")

_SCIPY_NUMPY = _same("numpy", """
    abs absolute all allclose amax amin any append arange arccos arcsin arctan arctan2 argmax
    argmin argsort argwhere around array asarray average bincount c_ ceil clip column_stack
    concatenate copy corrcoef cos cosh cov cross cumprod cumsum diag diff dot e empty
    empty_like equal exp expand_dims eye fabs finfo flatnonzero floor float32 float64 greater
    histogram hstack identity inf inner int32 int64 interp isfinite isinf isnan isreal kron
    less linspace loadtxt log log10 log1p log2 logical_and logical_not logical_or logspace max
    maximum mean median meshgrid min minimum mod nan nan_to_num ndarray newaxis nonzero ones
    ones_like outer pi poly1d polyfit polyval power prod r_ ravel real repeat reshape resize
    roll round rot90 save savetxt searchsorted sign sin sinh size sort split sqrt square
    squeeze std sum swapaxes take tan tanh tensordot tile trace transpose trapezoid tril triu
    uint8 unique unravel_index var vstack where zeros zeros_like""")

# Methods that classes have under another name now: {module: {class: {old name: new name}}}.
METHODS: dict[str, dict[str, dict[str, str]]] = {
    "array": {"array": {"fromstring": "frombytes", "tostring": "tobytes"}},
    "configparser": {"RawConfigParser": {"readfp": "read_file"}},
    "threading": {"Thread": {"isAlive": "is_alive"}},
    "unittest.case": {"TestCase": {
        "assertEquals": "assertEqual", "assertNotEquals": "assertNotEqual", "assert_": "assertTrue",
        "assertAlmostEquals": "assertAlmostEqual", "assertItemsEqual": "assertCountEqual",
        "assertNotAlmostEquals": "assertNotAlmostEqual", "assertRaisesRegexp": "assertRaisesRegex",
        "assertRegexpMatches": "assertRegex", "assertNotRegexpMatches": "assertNotRegex",
        "failUnless": "assertTrue", "failIf": "assertFalse", "failUnlessEqual": "assertEqual",
        "failIfEqual": "assertNotEqual", "failUnlessRaises": "assertRaises",
        "failUnlessAlmostEqual": "assertAlmostEqual", "failIfAlmostEqual": "assertNotAlmostEqual",
    }},
    "xml.etree.ElementTree": {"ElementTree": {"getiterator": "iter"}},
    "networkx.classes.graph": {"Graph": {"node": "nodes"}},
}

TABLES: dict[str, dict[str, Any]] = {
    "numpy": _NUMPY,
    "numpy.core": _NUMPY,
    "numpy.core.numeric": _NUMPY,
    "numpy.core.fromnumeric": _alias(
        "numpy", "product=prod alltrue=all sometrue=any round_=round"),
    "numpy.lib": _same("numpy", """
        pad append average bincount broadcast_arrays broadcast_to column_stack copy corrcoef cov
        delete diff digitize expand_dims eye fliplr flipud histogram insert interp isin kron
        meshgrid median percentile rot90 save savez split stack tile trapezoid tri tril triu unique
        vander vstack where"""),
    "numpy.lib.npyio": _same("numpy", """
        fromregex genfromtxt load loadtxt packbits save savetxt savez savez_compressed
        unpackbits"""),
    "numpy.lib.stride_tricks": _same("numpy", "broadcast_arrays broadcast_to"),
    "scipy": {**_SCIPY_NUMPY, "rand": "numpy.random:rand", "randn": "numpy.random:randn"},
    "scipy.misc": _SCIPY_MISC,
    "scipy.ndimage": {"imread": f"{_MISC}:imread"},
    "scipy.integrate": _alias("scipy.integrate", """
        simps=simpson trapz=trapezoid cumtrapz=cumulative_trapezoid"""),
    "scipy.signal": _same("scipy.signal.windows", """
        barthann bartlett blackman blackmanharris bohman boxcar chebwin cosine exponential flattop
        gaussian general_gaussian hamming hann kaiser nuttall parzen triang tukey""")
        | {"hanning": "scipy.signal.windows:hann"},
    "scipy.linalg": _same("numpy", "tri tril triu kron") | {"pinv2": "scipy.linalg:pinv"},
    "scipy.stats": _same("numpy", "nanmean nanmedian nanstd") | _alias(
        "scipy.special", "chisqprob=chdtrc betai=betainc")
        | _same("stillflow.facade.revive.old_scipy", """
            binom_test itemfreq median_absolute_deviation"""),
    "scipy.spatial.distance": {"matching": "scipy.spatial.distance:hamming"},
    "sklearn.externals": {"joblib": "joblib", "six": "six"},
    "networkx": _alias("networkx", """
            from_numpy_matrix=from_numpy_array from_scipy_sparse_matrix=from_scipy_sparse_array
            OrderedGraph=Graph OrderedDiGraph=DiGraph OrderedMultiGraph=MultiGraph
            OrderedMultiDiGraph=MultiDiGraph adj_matrix=adjacency_matrix find_cores=core_number
            edge_betweenness=edge_betweenness_centrality pagerank_numpy=pagerank
            pagerank_scipy=pagerank hits_numpy=hits hits_scipy=hits""")
        | _same("stillflow.facade.revive.old_graphs", """
            to_numpy_matrix to_scipy_sparse_matrix info read_gpickle write_gpickle
            connected_component_subgraphs strongly_connected_component_subgraphs
            weakly_connected_component_subgraphs biconnected_component_subgraphs"""),
    "matplotlib.cm": {"get_cmap": "matplotlib.pyplot:get_cmap"},
    "pandas": {
        **_same("stillflow.facade.revive.old_pandas", """
            ewma rolling_count rolling_max rolling_mean rolling_median rolling_min rolling_std
            rolling_sum rolling_var"""),
        **_alias("pandas", """
            TimeSeries=Series Int64Index=Index UInt64Index=Index Float64Index=Index
            scatter_matrix=plotting.scatter_matrix"""),
        "datetime": "datetime:datetime",
        "np": "numpy",
    },
    "pandas.io.json": {"json_normalize": "pandas:json_normalize"},
    "librosa": {"output": "stillflow.facade.revive.old_librosa"},
    "PIL.Image": _alias("PIL.Image", """
        ANTIALIAS=Resampling.LANCZOS LINEAR=Resampling.BILINEAR CUBIC=Resampling.BICUBIC
        NEAREST=Resampling.NEAREST BILINEAR=Resampling.BILINEAR BICUBIC=Resampling.BICUBIC
        LANCZOS=Resampling.LANCZOS BOX=Resampling.BOX HAMMING=Resampling.HAMMING
        FLIP_LEFT_RIGHT=Transpose.FLIP_LEFT_RIGHT FLIP_TOP_BOTTOM=Transpose.FLIP_TOP_BOTTOM
        ROTATE_90=Transpose.ROTATE_90 ROTATE_180=Transpose.ROTATE_180
        ROTATE_270=Transpose.ROTATE_270 TRANSPOSE=Transpose.TRANSPOSE AFFINE=Transform.AFFINE
        PERSPECTIVE=Transform.PERSPECTIVE QUAD=Transform.QUAD WEB=Palette.WEB
        ADAPTIVE=Palette.ADAPTIVE"""),
    "collections": {**_COLLECTIONS, "ByteString": f"{_OLD}:ByteString"},
    "cgi": {"escape": "html:escape", **_same("urllib.parse", "parse_qs parse_qsl")},
    "fractions": {"gcd": "math:gcd"},
    "inspect": _same(_OLD, "getargspec formatargspec ArgSpec"),
    "itertools": {
        **_alias("builtins", "izip=zip imap=map ifilter=filter"),
        "izip_longest": "itertools:zip_longest",
        "ifilterfalse": "itertools:filterfalse",
    },
    "os": {"getcwdu": "os:getcwd", "errno": "errno"},
    "platform": _same(_OLD, "linux_distribution dist"),
    "string": {
        **_alias("string", "letters=ascii_letters lowercase=ascii_lowercase"
                           " uppercase=ascii_uppercase"),
        **_alias("builtins", """
            atoi=int atol=int atof=float lower=str.lower upper=str.upper
            strip=str.strip split=str.split replace=str.replace find=str.find
            maketrans=str.maketrans"""),
        "join": f"{_OLD}:join",
    },
    "sys": {
        "maxint": "sys:maxsize",
        "setdefaultencoding": f"{_OLD}:setdefaultencoding",
        **_same(_OLD, "getcheckinterval setcheckinterval"),
    },
    "time": {"clock": "time:process_time"},
    "types": {
        **_alias("builtins", """
            StringType=str UnicodeType=str IntType=int LongType=int FloatType=float ListType=list
            TupleType=tuple DictType=dict BooleanType=bool ObjectType=object TypeType=type"""),
        "StringTypes": (str,),
        "ClassType": type,
        "InstanceType": object,
        "NoneType": type(None),
    },
    "urllib": {
        **_same("urllib.request", "urlretrieve urlopen pathname2url url2pathname getproxies"),
        **_same(_URLLIB, "URLopener FancyURLopener"),
        **_same("urllib.parse", "urlencode quote quote_plus unquote unquote_plus"),
    },
    "urllib.request": _same(_URLLIB, "URLopener FancyURLopener"),
    "collections.abc": {"ByteString": f"{_OLD}:ByteString"},
    "typing": {"ByteString": f"{_OLD}:ByteString"},
    "ast": _same(_OLD, "Num Str Bytes NameConstant"),
    "gast": _same("stillflow.facade.revive.old_gast",
                  "Num Str Bytes NameConstant Ellipsis Index ExtSlice"),
    "asyncio": {"coroutine": "types:coroutine"},
    "base64": _alias("base64", "encodestring=encodebytes decodestring=decodebytes"),
    "configparser": {"SafeConfigParser": "configparser:ConfigParser"},
    "pkgutil": _same(_OLD, "find_loader get_loader"),
    "importlib": {"find_loader": f"{_OLD}:find_loader"},
    "locale": {"format": "locale:format_string"},
    "unittest": {"makeSuite": f"{_OLD}:make_suite"},
    "xml.etree": {"cElementTree": "xml.etree.ElementTree"},
}
